"""Mixture of experts for a piecewise function."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(81)
x = torch.rand(1200, 2) * 4 - 2
y = torch.where(x[:, :1] > 0, torch.sin(3 * x[:, 1:]), 0.5 * x[:, 1:] ** 2)
loader = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=50, shuffle=True)


class MoE(nn.Module):
    def __init__(self, experts=4):
        super().__init__()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1)) for _ in range(experts))
        self.gate = nn.Linear(2, experts)

    def forward(self, x):
        weights = self.gate(x).softmax(dim=0)
        outs = torch.stack([e(x) for e in self.experts], dim=1)
        return (weights.unsqueeze(-1) * outs).sum(dim=1)


model = MoE()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(x[1000:]), y[1000:]).item()
    print(epoch, f"train {loss.item():.4f} val {val:.4f}")
