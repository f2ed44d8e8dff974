import math

import torch
import torch.nn as nn


class Coupling(nn.Module):
    """Affine coupling; starts as the identity."""

    def __init__(self, swap, hidden=32):
        super().__init__()
        self.swap = swap
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.flip(1).chunk(2, 1) if self.swap else x.chunk(2, 1)
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        y = torch.cat([b, a], 1) if self.swap else torch.cat([a, b], 1)
        return y, s.squeeze(1)


class Flow(nn.Module):
    def __init__(self, layers=6):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(layers))

    def log_prob(self, x):
        logdet = 0.0
        for layer in self.layers:
            x, s = layer(x)
            logdet = logdet + s
        return -0.5 * x.pow(2).sum(1) - math.log(2 * math.pi) + logdet


def banana(n):
    u = torch.randn(n, 2)
    return torch.stack([u[:, 0], 0.3 * u[:, 1] + 0.7 * u[:, 0] ** 2 - 0.7], 1)


torch.manual_seed(176)
flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
for step in range(250):
    loss = -flow.log_prob(banana(128)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3d} nll {loss.item():.3f}")
with torch.no_grad():
    print("held-out nll", -flow.log_prob(banana(2000)).mean().item())
