"""Variational autoencoder on 6x6 images of bumps."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def bumps(n):
    gy, gx = torch.meshgrid(torch.linspace(-1, 1, 6), torch.linspace(-1, 1, 6), indexing="ij")
    c = torch.rand(2, n, 1, 1) * 1.2 - 0.6
    return torch.exp(-4 * ((gy - c[0]) ** 2 + (gx - c[1]) ** 2)).flatten(1)


class VAE(nn.Module):
    def __init__(self, pixels=36, hidden=64, latent=2):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU())
        self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

    def forward(self, x):
        h = self.enc(x * 2 - 0.6)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def negative_elbo(logits, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum()
    return (rec + kl) / len(x)


torch.manual_seed(124)
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
for step in range(250):
    x = bumps(64)
    loss = negative_elbo(*[(out := vae(x))[0], x, *out[1:]])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3d} -elbo {loss.item():.3f}")
with torch.no_grad():
    x = bumps(300)
    logits, mu, logvar = vae(x)
print("held-out reconstruction mse", (logits.sigmoid() - x).pow(2).mean().item())
