import torch
from torch import nn

torch.manual_seed(19)


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 40), nn.SiLU(), nn.Linear(40, 40), nn.SiLU(), nn.Linear(40, n_out))


def real(n):
    return 0.3 * torch.randn(n, 1) + torch.where(torch.rand(n, 1) < 0.5, -1.0, 1.0) + 0.5


def penalty(critic, a, b):
    mix = torch.rand(len(a), 1)
    point = (mix * a + (1 - mix) * b).requires_grad_(True)
    (grad,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    return ((grad.norm(dim=1) - 1) ** 2).mean()


generator, critic = mlp(3, 1), mlp(1, 1)
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=5e-3, betas=(0.5, 0.9))
for step in range(1, 241):
    for _ in range(3):
        x = real(64)
        with torch.no_grad():
            fake = generator(torch.randn(64, 3))
        loss_c = critic(fake).mean() - critic(x).mean() + penalty(critic, x, fake)
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
    loss_g = -critic(generator(torch.randn(64, 3))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 60 == 0:
        with torch.no_grad():
            out = generator(torch.randn(1000, 3))
        print(f"step {step}: wasserstein {-loss_c.item():.3f} mean {out.mean():.2f} (0.5) std {out.std():.2f} (1.04)")
