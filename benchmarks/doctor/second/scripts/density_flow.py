"""Affine coupling flow with activation normalisation on the two-moons density."""
import math

import torch
import torch.nn as nn


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(dim))
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.register_buffer("ready", torch.tensor(False))

    def forward(self, x):
        if self.training and not self.ready:
            with torch.no_grad():
                self.shift.copy_(-x.mean(0))
                self.log_scale.copy_(-torch.log(x.std(0) + 1e-6))
                self.ready.fill_(True)
        return (x + self.shift) * self.log_scale.exp(), self.log_scale.sum()


class Coupling(nn.Module):
    def __init__(self, flip, width=32):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.flip(1).chunk(2, 1) if self.flip else x.chunk(2, 1)
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.squeeze(1)


class Flow(nn.Module):
    def __init__(self, pairs=6):
        super().__init__()
        self.layers = nn.ModuleList(m for i in range(pairs) for m in (ActNorm(2), Coupling(i % 2 == 1)))

    def log_prob(self, x):
        total = torch.zeros(len(x))
        for layer in self.layers:
            x, d = layer(x)
            total = total + d
        return total - 0.5 * x.pow(2).sum(1) - math.log(2 * math.pi)


def moons(n):
    t, up = math.pi * torch.rand(n), torch.rand(n) < 0.5
    x = torch.where(up, t.cos(), 1 - t.cos()) - 0.5
    y = torch.where(up, t.sin(), 0.5 - t.sin()) - 0.25
    return torch.stack([x / 0.87, y / 0.5], 1) + 0.1 * torch.randn(n, 2)


torch.manual_seed(33)
train, test = moons(2000), moons(500)
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=4e-3)
for epoch in range(7):
    flow.train()
    for idx in torch.randperm(len(train)).split(100):
        loss = -flow.log_prob(train[idx]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    flow.eval()
    with torch.no_grad():
        print(f"epoch {epoch}: test nll {-flow.log_prob(test).mean():.3f}")
