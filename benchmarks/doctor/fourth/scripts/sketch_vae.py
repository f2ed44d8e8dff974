import torch
import torch.nn as nn
import torch.nn.functional as F


class SketchVAE(nn.Module):
    def __init__(self, pixels=64, latent=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(pixels, 64), nn.ReLU())
        self.mu = nn.Linear(64, latent)
        self.logvar = nn.Linear(64, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, pixels))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        stats = {"mu": mu.detach(), "logvar": logvar.detach()}
        return self.dec(z), stats


def objective(recon, x, stats, beta=1.0):
    mu, logvar = stats["mu"], stats["logvar"]
    rec = F.binary_cross_entropy_with_logits(recon, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec + beta * kl, rec, kl


torch.manual_seed(0)
strokes = (torch.randn(8, 64) > 0.3).float()
data = strokes[torch.randint(0, 8, (2000,))]
data = torch.where(torch.rand_like(data) < 0.05, 1 - data, data)
model = SketchVAE()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    for idx in torch.randperm(len(data)).split(50):
        recon, stats = model(data[idx])
        loss, rec, kl = objective(recon, data[idx], stats)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: rec {rec.item():.2f} kl {kl.item():.2f}")
