"""Adapt a trained network to a shifted task with low-rank updates."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.a.t() @ self.b.t()


def regression(n, shift):
    x = torch.randn(n, 8)
    return x, torch.sin(x[:, :1] + shift) + 0.5 * x[:, 1:2] * x[:, 2:3]


def train(model, shift, steps, lr):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    for step in range(steps):
        x, y = regression(96, shift)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"  step {step:3d} {loss.item():.4f}")


torch.manual_seed(162)
net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
print("base task")
train(net, 0.0, 240, 5e-3)
for i in (0, 2, 4):
    net[i] = LoRALinear(net[i])
print("shifted task, adapters only")
train(net, 0.8, 180, 1e-2)
x, y = regression(500, 0.8)
with torch.no_grad():
    print("error", F.mse_loss(net(x), y).item())
