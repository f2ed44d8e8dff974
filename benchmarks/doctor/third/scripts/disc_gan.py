"""A GAN for points on a disc."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(363)


class GAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gen = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 2))
        self.disc = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))


def disc_points(n=64):
    a, r = torch.rand(n) * 6.2832, torch.rand(n).sqrt()
    return torch.stack([r * a.cos(), r * a.sin()], 1)


model = GAN()
opt_g = torch.optim.Adam(model.gen.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(150):
    fake = model.gen(torch.randn(64, 4))
    real_out, fake_out = model.disc(disc_points()), model.disc(fake)
    loss_d = (F.binary_cross_entropy_with_logits(real_out, torch.ones_like(real_out))
              + F.binary_cross_entropy_with_logits(fake_out, torch.zeros_like(fake_out)))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    out = model.disc(model.gen(torch.randn(64, 4)))
    loss_g = F.binary_cross_entropy_with_logits(out, torch.ones_like(out))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 30 == 0:
        print(step, f"d {loss_d.item():.3f} g {loss_g.item():.3f}")
