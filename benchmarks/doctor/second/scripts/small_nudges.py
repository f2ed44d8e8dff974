import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def sensor_rows(n):
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 12)
    x[torch.arange(n), y * 4] += 2.5
    x[torch.arange(n), y * 4 + 1] -= 1.5
    return x / 1.2, y


def attack(model, x, y, eps=0.25, steps=3):
    """worst nudge within a box around each row (projected gradient ascent)"""
    delta = torch.empty_like(x).uniform_(-eps, eps)
    for _ in range(steps):
        delta.requires_grad_(True)
        slope, = torch.autograd.grad(F.cross_entropy(model(x + delta), y), delta)
        delta = (delta.detach() + 0.5 * eps * slope.sign()).clamp(-eps, eps)
    return (x + delta).detach()


def evaluate(model, x, y):
    model.eval()
    bad = attack(model, x, y)
    with torch.no_grad():
        clean = (model(x).argmax(1) == y).float().mean().item()
        robust = (model(bad).argmax(1) == y).float().mean().item()
    return clean, robust


torch.manual_seed(15)
loader = DataLoader(TensorDataset(*sensor_rows(960)), batch_size=64, shuffle=True)
xt, yt = sensor_rows(300)
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    for x, y in loader:
        model.train()
        hard = attack(model, x, y)
        loss = 0.5 * F.cross_entropy(model(x), y) + 0.5 * F.cross_entropy(model(hard), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    clean, robust = evaluate(model, xt, yt)
    print(f"epoch {epoch}: loss {loss.item():.3f} clean {clean:.3f} nudged {robust:.3f}")
