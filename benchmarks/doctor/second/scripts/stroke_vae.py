import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE = 12


def strokes(n):
    """one short straight stroke in a random place and direction"""
    g = torch.arange(SIZE).float()
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    cx, cy = 3.5 + 4 * torch.rand(2, n, 1, 1)
    a = 3.14159 * torch.rand(n, 1, 1)
    along = (xx - cx) * a.cos() + (yy - cy) * a.sin()
    across = (yy - cy) * a.cos() - (xx - cx) * a.sin()
    return ((along.abs() < 4) & (across.abs() < 1)).float().flatten(1)


class VAE(nn.Module):
    def __init__(self, latent=4, width=96):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(SIZE**2, width), nn.ReLU(), nn.Linear(width, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, SIZE**2))

    def forward(self, x):
        mu, logvar = self.enc((x - 0.1) / 0.3).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar) if self.training else mu
        return self.dec(z), mu, logvar


def elbo_terms(model, x):
    logits, mu, logvar = model(x)
    recon = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)
    return recon, kl


torch.manual_seed(58)
images, held = strokes(1500), strokes(300)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    model.train()
    for idx in torch.randperm(len(images)).split(50):
        recon, kl = elbo_terms(model, images[idx])
        loss = recon + kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        recon, kl = elbo_terms(model, held)
    print(f"epoch {epoch}: held-out reconstruction {recon:.2f} kl {kl:.2f}")
