"""A diffusion model for two-dimensional points."""
import copy

import torch
import torch.nn as nn

torch.manual_seed(341)
T = 50
betas = torch.linspace(1e-3, 0.15, T)
alphas_bar = torch.cumprod(1 - betas, dim=0)


class Denoiser(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.time = nn.Embedding(T, dim)
        self.inp = nn.Linear(2, dim)
        self.net = nn.Sequential(nn.SiLU(), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 2))

    def forward(self, x, t):
        return self.net(self.inp(x) + self.time(t))


def moons(n):
    a = torch.rand(n) * 3.1416
    side = torch.randint(0, 2, (n,)).float() * 2 - 1
    return torch.stack([a.cos() + side * 0.5, side * (a.sin() - 0.25)], 1) + 0.05 * torch.randn(n, 2)


model = Denoiser()
averaged = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(200):
    x0 = moons(128)
    t = torch.randint(0, T, (128,))
    eps = torch.randn_like(x0)
    ab = alphas_bar[t].unsqueeze(1)
    xt = ab.sqrt() * x0 + (1 - ab).sqrt() * eps
    loss = ((model(xt, t) - eps) ** 2).sum() / len(x0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for a, p in zip(averaged.parameters(), model.parameters()):
            a.mul_(0.99).add_(p, alpha=0.01)
    if step % 50 == 0:
        print(step, f"{loss.item():.4f}")
