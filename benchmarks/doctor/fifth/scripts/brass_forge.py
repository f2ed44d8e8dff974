import torch
from torch import nn

torch.manual_seed(18)


def real(n):
    angle = 6.2832 * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], 1) * 0.5 + torch.tensor([1.5, -0.5]) + 0.05 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(4, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 2))
D = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)

for step in range(1, 501):
    fake = G(torch.randn(64, 4))
    loss_d = bce(D(real(64)), 0.9 * ones) + bce(D(fake.detach()), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = bce(D(fake), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    if step % 100 == 0:
        with torch.no_grad():
            points = G(torch.randn(500, 4))
        gap = (points.mean(0) - torch.tensor([1.5, -0.5])).norm().item()
        print(f"step {step}: d {loss_d.item():.3f} g {loss_g.item():.3f} centre off by {gap:.3f}")
