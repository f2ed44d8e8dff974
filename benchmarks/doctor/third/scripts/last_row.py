"""Tabular classifier with BatchNorm."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(121)
x = torch.randn(1281, 10)
y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).long()
train_set, val_set = random_split(TensorDataset(x, y), [1025, 256])
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=128)


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, 2))

    def forward(self, x):
        return self.net(x)


model = Table()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(a).argmax(1) == b).sum().item() for a, b in val_loader)
    print(epoch, f"loss {loss.item():.4f} acc {hits / len(val_set):.3f}")
