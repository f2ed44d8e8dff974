"""A GAN for points on a ring."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(212)
G = nn.Sequential(nn.Linear(4, 48), nn.LeakyReLU(0.2), nn.Linear(48, 2))
D = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))


def ring(n):
    a = torch.rand(n) * 2 * math.pi
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


for step in range(200):
    real = ring(64)
    fake = G(torch.randn(64, 4))
    d_real, d_fake = D(real), D(fake.detach())
    loss_d = (F.binary_cross_entropy_with_logits(d_real, torch.ones_like(d_real))
              + F.binary_cross_entropy_with_logits(d_fake, torch.zeros_like(d_fake)))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    g_out = D(fake)
    loss_g = F.binary_cross_entropy_with_logits(g_out, torch.ones_like(g_out))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 50 == 0:
        print(step, f"d {loss_d.item():.3f} g {loss_g.item():.3f}")
