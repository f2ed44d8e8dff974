"""GAN for points on a ring."""
import math

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce


def ring(n):
    a = 2 * math.pi * torch.rand(n)
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


torch.manual_seed(107)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))


def main(steps=500, batch=64):
    opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
    ones, zeros = torch.ones(batch, 1), torch.zeros(batch, 1)
    for step in range(steps):
        fake = G(torch.randn(batch, 4))

        opt_d.zero_grad()
        d_loss = bce(D(ring(batch)), ones) + bce(D(fake.detach()), zeros)
        d_loss.backward()
        opt_d.step()

        opt_g.zero_grad()
        g_loss = bce(D(fake), ones)
        g_loss.backward()
        opt_g.step()

        if step % 100 == 0:
            print(f"{step:4d} d {d_loss.item():.3f} g {g_loss.item():.3f}")
    with torch.no_grad():
        radius = G(torch.randn(500, 4)).norm(dim=1)
    print(f"mean radius {radius.mean():.2f} +- {radius.std():.2f}")


main()
