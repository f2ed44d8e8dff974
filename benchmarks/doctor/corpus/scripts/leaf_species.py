import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(79)


def leaves(n):
    c = torch.randint(0, 4, (n,))
    theta = torch.linspace(0, 6.283, 40)
    lobes = (c + 2).float().unsqueeze(1)
    outline = 1 + 0.4 * torch.cos(lobes * (theta + 6.283 * torch.rand(n, 1))) + 0.15 * torch.randn(n, 40)
    return (outline - 1) / 0.32, c


net = nn.Sequential(
    nn.Linear(40, 80), nn.BatchNorm1d(80), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(80, 40), nn.BatchNorm1d(40), nn.ReLU(), nn.Linear(40, 4),
)
x, y = leaves(640)
xt, yt = leaves(200)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)


def test():
    net.eval()
    with torch.no_grad():
        return (net(xt).argmax(1) == yt).float().mean().item()


for epoch in range(6):
    total = 0.0
    for idx in torch.randperm(640).split(64):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() / 10
    print(f"epoch {epoch}  train loss {total:.3f}  test accuracy {test():.3f}")
