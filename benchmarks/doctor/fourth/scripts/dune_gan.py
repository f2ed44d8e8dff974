import torch
import torch.nn as nn


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, o))


def penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (grad,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


def dunes(n):
    a = 6.283 * torch.rand(n)
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


torch.manual_seed(0)
gen, critic = mlp(4, 2), mlp(2, 1)
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
for it in range(120):
    for _ in range(5):
        real = dunes(64)
        fake = gen(torch.randn(64, 4)).detach()
        c_loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(critic, real, fake)
        opt_c.zero_grad()
        c_loss.backward()
        opt_c.step()
    for p in critic.parameters():
        p.requires_grad_(False)
    g_loss = -critic(gen(torch.randn(64, 4))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    for p in critic.parameters():
        p.requires_grad_(True)
    if it % 30 == 0:
        print(f"{it}: critic {c_loss.item():.3f} generator {g_loss.item():.3f}")
