import torch
import torch.nn as nn

torch.manual_seed(0)
gen = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
disc = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
mean = torch.tensor([2.0, -1.0])


def real(n):
    return mean + torch.randn(n, 2) * torch.tensor([0.5, 1.0])


ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
for step in range(800):
    fake = gen(torch.randn(64, 4))

    d_loss = bce(disc(real(64)), ones) + bce(disc(fake.detach()), zeros)
    d_loss.backward()
    opt_d.step()

    opt_g.zero_grad()
    g_loss = bce(disc(fake), ones)
    g_loss.backward()
    opt_g.step()

    if step % 200 == 0:
        print(f"{step} d {d_loss.item():.3f} g {g_loss.item():.3f} mean {fake.detach().mean(0).tolist()}")
