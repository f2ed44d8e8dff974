import torch
import torch.nn as nn
import torch.nn.functional as F


class DoodleVAE(nn.Module):
    def __init__(self, pixels=64, latent=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(pixels, 64), nn.ReLU(), nn.Linear(64, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, pixels))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        z = mu + (0.5 * logvar).exp() * torch.randn_like(mu)
        return self.dec(z), mu, logvar


torch.manual_seed(1)
strokes = (torch.randn(8, 64) > 0.3).float()
data = strokes[torch.randint(0, 8, (2000,))]
data = torch.where(torch.rand_like(data) < 0.05, 1 - data, data)
model = DoodleVAE()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    beta = min(1.0, (epoch + 1) / 4)
    for idx in torch.randperm(len(data)).split(50):
        x = data[idx]
        recon, mu, logvar = model(x)
        rec = F.binary_cross_entropy_with_logits(recon, x, reduction="sum") / len(x)
        kl = 0.5 * (mu.square() + logvar.exp() - 1 - logvar).sum(1).mean()
        loss = rec + beta * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: rec {rec.item():.2f} kl {kl.item():.2f}")
