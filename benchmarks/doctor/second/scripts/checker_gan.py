import torch
import torch.nn as nn
import torch.nn.functional as F


def checkerboard(n):
    cell = torch.randint(0, 2, (n, 2)) * 2 - 1.0
    cell[:, 1] = cell[:, 0]
    return cell + (torch.rand(n, 2) - 0.5) * 1.2


class Trainer:
    def __init__(self, latent=6, width=64, gamma=0.5, every=2):
        self.latent, self.gamma, self.every = latent, gamma, every
        act = nn.SiLU
        self.gen = nn.Sequential(nn.Linear(latent, width), act(), nn.Linear(width, width), act(), nn.Linear(width, 2))
        self.dis = nn.Sequential(nn.Linear(2, width), act(), nn.Linear(width, width), act(), nn.Linear(width, 1))
        self.gen_opt = torch.optim.Adam(self.gen.parameters(), lr=2e-3, betas=(0.0, 0.99))
        self.dis_opt = torch.optim.Adam(self.dis.parameters(), lr=2e-3, betas=(0.0, 0.99))

    def discriminator_step(self, x, step):
        with torch.no_grad():
            fake = self.gen(torch.randn(len(x), self.latent))
        x.requires_grad_(True)
        on_real = self.dis(x)
        loss = F.softplus(-on_real).mean() + F.softplus(self.dis(fake)).mean()
        if step % self.every == 0:
            slope, = torch.autograd.grad(on_real.sum(), x, create_graph=True)
            loss = loss + self.gamma * self.every * slope.pow(2).sum(1).mean()
        self.dis_opt.zero_grad()
        loss.backward()
        self.dis_opt.step()
        return loss.item()

    def generator_step(self, n):
        self.dis.requires_grad_(False)
        loss = F.softplus(-self.dis(self.gen(torch.randn(n, self.latent)))).mean()
        self.gen_opt.zero_grad()
        loss.backward()
        self.gen_opt.step()
        self.dis.requires_grad_(True)
        return loss.item()

    def fit(self, steps=350, n=128):
        for step in range(steps):
            d = self.discriminator_step(checkerboard(n), step)
            g = self.generator_step(n)
            if step % 50 == 0:
                print(f"{step}: dis {d:.3f} gen {g:.3f}")


torch.manual_seed(66)
trainer = Trainer()
trainer.fit()
with torch.no_grad():
    s = trainer.gen(torch.randn(400, 6))
print(f"points in matching cells: {((s[:, 0] * s[:, 1]) > 0).float().mean():.3f}")
