"""WGAN with a gradient penalty."""
import torch
import torch.nn as nn

torch.manual_seed(350)
G = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
C = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(C.parameters(), lr=1e-3, betas=(0.0, 0.9))


def real_points(n=64):
    return torch.randn(n, 2) * torch.tensor([0.5, 1.0]) + torch.tensor([1.0, -0.5])


def penalty(real, fake):
    u = torch.rand(len(real), 1)
    mid = (u * real + (1 - u) * fake).requires_grad_(True)
    g = torch.autograd.grad(C(mid).sum(), mid, create_graph=True)[0]
    norm = (g.pow(2).sum(1) + 1e-12).sqrt()
    return ((norm - 1) ** 2).mean()


for step in range(180):
    real = real_points()
    with torch.no_grad():
        fake = G(torch.randn(64, 3))
    loss_c = C(fake).mean() - C(real).mean() + 10 * penalty(real, fake)
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()
    if step % 3 == 2:
        loss_g = -C(G(torch.randn(64, 3))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
    if step % 45 == 44:
        print(step, f"c {loss_c.item():.3f} g {loss_g.item():.3f}")
