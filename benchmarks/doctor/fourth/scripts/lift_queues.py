import torch
import torch.nn as nn


class Gan:
    def __init__(self):
        self.gen = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
        self.disc = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.opt_g = torch.optim.Adam(self.gen.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.disc.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.bce = nn.BCEWithLogitsLoss()

    def step_disc(self, real):
        with torch.no_grad():
            fake = self.gen(torch.randn(len(real), 4))
        a, b = self.disc(real), self.disc(fake)
        loss = self.bce(a, torch.full_like(a, 0.9)) + self.bce(b, torch.zeros_like(b))
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()
        return loss.detach()

    def step_gen(self, n):
        fake = self.gen(torch.randn(n, 4))
        score = self.disc(fake)
        loss = self.bce(score, torch.ones_like(score))
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss.detach()


torch.manual_seed(0)
gan = Gan()
mean, spread = torch.tensor([2.0, -1.0]), torch.tensor([0.5, 1.0])
for step in range(800):
    d = gan.step_disc(mean + spread * torch.randn(64, 2))
    g = gan.step_gen(64)
    if step % 200 == 0:
        print(f"{step} d {d:.3f} g {g:.3f}")
