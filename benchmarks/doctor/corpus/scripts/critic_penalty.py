import torch
from torch import nn

torch.manual_seed(109)
modes = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])


def real(n):
    return modes[torch.randint(0, 4, (n,))] + 0.1 * torch.randn(n, 2)


def mlp(inp, out):
    return nn.Sequential(nn.Linear(inp, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, out))


def penalty(critic, a, b):
    eps = torch.rand(len(a), 1)
    mid = (eps * a + (1 - eps) * b).requires_grad_(True)
    (grad,) = torch.autograd.grad(critic(mid).sum(), mid, create_graph=True)
    return ((grad.norm(dim=1) - 1) ** 2).mean()


generator, critic = mlp(4, 2), mlp(2, 1)
g_opt = torch.optim.Adam(generator.parameters(), lr=5e-3, betas=(0.5, 0.9))
c_opt = torch.optim.Adam(critic.parameters(), lr=5e-3, betas=(0.5, 0.9))

for it in range(150):
    for _ in range(3):
        x, fake = real(64), generator(torch.randn(64, 4)).detach()
        c_loss = critic(fake).mean() - critic(x).mean() + penalty(critic, x, fake)
        c_opt.zero_grad()
        c_loss.backward()
        c_opt.step()
    g_loss = -critic(generator(torch.randn(64, 4))).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    if it % 30 == 0:
        print("it %3d critic %.3f generator %.3f" % (it, c_loss.item(), g_loss.item()))

with torch.no_grad():
    d = torch.cdist(generator(torch.randn(400, 4)), modes).min(1).values
print("mean distance to the nearest mode %.3f" % d.mean().item())
