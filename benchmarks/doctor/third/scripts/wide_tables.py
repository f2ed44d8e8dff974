"""Transformer-style recipe (lr 1e-3, decay 0.5) for a table."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(221)
x = torch.randn(1200, 20)
w = torch.randn(20, 5)
y = (x @ w + 0.5 * torch.randn(1200, 5)).argmax(1)
train_loader = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=40, shuffle=True)


class TableNet(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.inp = nn.Linear(20, dim)
        self.ff = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.out = nn.Linear(dim, 5)

    def forward(self, x):
        h = self.inp(x)
        return self.out(h + self.ff(h))


model = TableNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=0.5)
for epoch in range(6):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(x[1000:]).argmax(1) == y[1000:]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
