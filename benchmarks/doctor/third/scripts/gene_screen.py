"""Pick the most telling genes and train a small classifier on them."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
n, genes, keep = 200, 2000, 30
expression = torch.randn(n, genes)
outcome = torch.randint(0, 2, (n,)).float()

centred = outcome - outcome.mean()
correlation = (expression * centred[:, None]).mean(0).abs()
best = correlation.topk(keep).indices
features = expression[:, best]

order = torch.randperm(n)
train_idx, val_idx = order[:150], order[150:]
train_loader = DataLoader(TensorDataset(features[train_idx], outcome[train_idx]), batch_size=25, shuffle=True)
val_x, val_y = features[val_idx], outcome[val_idx]

model = nn.Sequential(nn.Linear(keep, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.01)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(10):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        logits = model(val_x).squeeze(1)
        accuracy = ((logits > 0).float() == val_y).float().mean().item()
    print(f"epoch {epoch} train {loss.item():.3f} val accuracy {accuracy:.3f}")
