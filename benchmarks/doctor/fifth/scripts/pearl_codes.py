import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(26)


class VAE(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.enc = nn.Linear(64, 64)
        self.mu = nn.Linear(64, latent)
        self.logvar = nn.Linear(64, latent)
        self.dec1 = nn.Linear(latent, 64)
        self.dec2 = nn.Linear(64, 64)

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec2(F.relu(self.dec1(z))), mu, logvar


def elbo(logits, x, mu, logvar):
    rebuild = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
    m, v = mu.data, logvar.data
    kl = -0.5 * (1 + v - m.pow(2) - v.exp()).sum(1)
    return rebuild.mean(), kl.mean()


x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
for epoch in range(6):
    for batch in x[torch.randperm(len(x))].split(60):
        logits, mu, logvar = vae(batch)
        rebuild, kl = elbo(logits, batch, mu, logvar)
        loss = rebuild + kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: rebuild {rebuild.item():.2f} kl {kl.item():.2f}")
