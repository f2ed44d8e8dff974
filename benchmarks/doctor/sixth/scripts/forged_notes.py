import torch
from torch import nn, autograd

torch.manual_seed(0)


def real(n):
    angle = torch.rand(n) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.9))


def gradient_penalty(x, fake):
    mix = torch.rand(len(x), 1)
    point = (mix * x + (1 - mix) * fake).requires_grad_(True)
    (grad,) = autograd.grad(D(point).sum(), point, create_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


for it in range(120):
    for _ in range(5):
        x, fake = real(48), G(torch.randn(48, 4)).detach()
        d_loss = D(fake).mean() - D(x).mean() + 5 * gradient_penalty(x, fake)
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
    g_loss = -D(G(torch.randn(48, 4))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if it % 20 == 0:
        with torch.no_grad():
            radius = G(torch.randn(256, 4)).norm(dim=1)
        print(f"{it} critic {d_loss.item():.3f} generator {g_loss.item():.3f} radius {radius.mean():.3f}")
