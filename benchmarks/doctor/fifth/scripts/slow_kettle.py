import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class VAE(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec(z), mu, logvar


def kl_divergence(mu, logvar):
    return 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).sum(1).mean()


def main():
    torch.manual_seed(58)
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    vae = VAE()
    optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
    for epoch in range(7):
        beta = min(1.0, epoch / 4)
        totals = torch.zeros(2)
        for batch in x[torch.randperm(len(x))].split(60):
            logits, mu, logvar = vae(batch)
            rebuild = F.binary_cross_entropy_with_logits(logits, batch, reduction="sum") / len(batch)
            kl = kl_divergence(mu, logvar)
            optimizer.zero_grad()
            (rebuild + beta * kl).backward()
            optimizer.step()
            totals += torch.stack([rebuild, kl]).detach()
        rebuild, kl = (totals / 30).tolist()
        print(f"epoch {epoch}: beta {beta:.2f} rebuild {rebuild:.2f} kl {kl:.2f}")


main()
