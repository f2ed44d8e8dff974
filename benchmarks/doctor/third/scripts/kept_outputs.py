"""Train and collect the outputs for the metric at the end of the run."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(362)
x = torch.randn(960, 12)
y = (x[:, 0] * x[:, 1] > 0).float()
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
outputs, labels, losses = [], [], []

for epoch in range(4):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        logits = model(xb).squeeze(1)
        loss = criterion(logits, yb)
        loss.backward()
        optimizer.step()
        outputs.append(logits)
        labels.append(yb)
        losses.append(loss)
    recent = torch.stack(losses[-len(loader):]).mean()
    print(f"epoch {epoch} loss {recent.item():.4f}")

scores = torch.cat(outputs)
hits = ((scores > 0).float() == torch.cat(labels)).float().mean().item()
print(f"accuracy over the run {hits:.3f}")
