"""A small GAN for detector pulses."""
import torch
import torch.nn as nn

torch.manual_seed(2141)
NOISE, LENGTH, BATCH = 8, 24, 64
t = torch.linspace(0, 1, LENGTH)


def pulses(n):
    centre = 0.3 + 0.4 * torch.rand(n, 1)
    width = 0.08 + 0.08 * torch.rand(n, 1)
    return 2 * torch.exp(-((t - centre) / width) ** 2) - 0.6


generator = nn.Sequential(nn.Linear(NOISE, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, LENGTH))
discriminator = nn.Sequential(nn.Linear(LENGTH, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2),
                              nn.Linear(64, 1))
g_opt = torch.optim.Adam(generator.parameters(), lr=5e-4, betas=(0.5, 0.999))
d_opt = torch.optim.Adam(discriminator.parameters(), lr=5e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)

for step in range(300):
    # discriminator
    real = pulses(BATCH)
    fake = generator(torch.randn(BATCH, NOISE))
    d_loss = bce(discriminator(real), ones) + bce(discriminator(fake.detach()), zeros)
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()

    # generator
    g_loss = bce(discriminator(fake), ones)
    d_opt.zero_grad()
    g_loss.backward()
    g_opt.step()

    if step % 50 == 0:
        print(f"step {step} d {d_loss.item():.3f} g {g_loss.item():.3f}")

with torch.no_grad():
    sample = generator(torch.randn(500, NOISE))
print("distance of the means", (sample.mean(0) - pulses(500).mean(0)).abs().mean().item())
