"""Fraud detection with an imbalanced binary target."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make(n):
    y = (torch.rand(n) < 0.06).float()
    x = torch.randn(n, 10)
    x[:, :3] += 1.2 * y[:, None]
    return x, y


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        p = torch.sigmoid(model(x).squeeze(1)) > 0.5
    return p[y == 1].float().mean().item(), (p == y.bool()).float().mean().item()


torch.manual_seed(162)
x, y = make(1500)
x_test, y_test = make(600)
pos, neg = (y == 1).sum(), (y == 0).sum()
criterion = nn.BCEWithLogitsLoss(pos_weight=pos / neg)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for xb, yb in DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True):
        loss = criterion(model(xb).squeeze(1), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    recall, acc = evaluate(model, x_test, y_test)
    print(f"epoch {epoch} loss {loss.item():.4f} recall {recall:.3f} accuracy {acc:.3f}")
