import math

import torch
from torch import nn

torch.manual_seed(9)


def spiral(n):
    y = torch.randint(0, 2, (n,))
    t = torch.rand(n).sqrt() * 2.2 * math.pi
    r = t / 5 * (1 - 2 * y)
    return torch.stack([r * t.cos(), r * t.sin()], 1) + 0.03 * torch.randn(n, 2), y


def train_epoch(model, x, y, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    total = 0.0
    for idx in torch.randperm(len(x)).split(50):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    return total / len(x)


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


x, y = spiral(500)
x_val, y_val = spiral(200)
model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
for epoch in range(15):
    loss = train_epoch(model, x, y, lr=0.01)
    if epoch % 3 == 0:
        print(f"epoch {epoch:2d} loss {loss:.3f} val acc {accuracy(model, x_val, y_val):.2f}")
