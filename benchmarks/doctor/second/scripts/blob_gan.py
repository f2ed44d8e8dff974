"""GAN on six gaussian blobs."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(30)
Z = 4


def real_points(n):
    a = torch.randint(0, 6, (n,)) * (math.pi / 3)
    return 1.4 * torch.stack([a.cos(), a.sin()], 1) + 0.1 * torch.randn(n, 2)


def mlp(i, o, width=64):
    return nn.Sequential(nn.Linear(i, width), nn.LeakyReLU(0.2), nn.Linear(width, width),
                         nn.LeakyReLU(0.2), nn.Linear(width, o))


G, D = mlp(Z, 2), mlp(2, 1)
g_opt = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
d_opt = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))
for step in range(400):
    x = real_points(128)
    fake = G(torch.randn(128, Z))

    d_opt.zero_grad()
    d_loss = F.softplus(-D(x)).mean() + F.softplus(D(fake.detach())).mean()
    d_loss.backward()
    d_opt.step()

    g_opt.zero_grad()
    g_loss = F.softplus(-D(fake)).mean()
    g_loss.backward()
    g_opt.step()

    if step % 80 == 0:
        print(f"step {step}: D {d_loss.item():.3f} G {g_loss.item():.3f}")

with torch.no_grad():
    radius = G(torch.randn(500, Z)).norm(dim=1)
print(f"radius of generated points {radius.mean():.2f} +- {radius.std():.2f} (data: 1.40)")
