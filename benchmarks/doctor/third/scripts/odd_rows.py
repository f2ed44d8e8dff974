"""Tabular classifier with BatchNorm, validated row by row."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(123)
x = torch.randn(401, 10)
y = (x[:, 0] + x[:, 1] * 0.5 + x[:, 2] > 0).long()
train_loader = DataLoader(TensorDataset(x[:321], y[:321]), batch_size=32, shuffle=True, drop_last=True)
val_loader = DataLoader(TensorDataset(x[321:], y[321:]), batch_size=1)

model = nn.Sequential(
    nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(),
    nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(),
    nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def evaluate():
    model.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in val_loader:
            hits += (model(xb).argmax(1) == yb).sum().item()
    return hits / len(val_loader)


for epoch in range(5):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(epoch, f"loss {loss.item():.4f} acc {evaluate():.3f}")
