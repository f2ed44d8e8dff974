"""A VAE on small binary glyphs with KL warm-up."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(342)
glyphs = (torch.rand(6, 64) > 0.5).float()
x = glyphs[torch.randint(0, 6, (640,))]
x = torch.where(torch.rand_like(x) < 0.05, 1 - x, x)
loader = DataLoader(TensorDataset(x), batch_size=32, shuffle=True)


class VAE(nn.Module):
    def __init__(self, z=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
        self.mu, self.logvar = nn.Linear(64, z), nn.Linear(64, z)
        self.dec = nn.Sequential(nn.Linear(z, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
seen, warm = 0, 60
for epoch in range(5):
    for (xb,) in loader:
        logits, mu, logvar = model(xb)
        recon = F.binary_cross_entropy_with_logits(logits, xb, reduction="sum") / len(xb)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum() / len(xb)
        beta = min(1.0, seen / warm)
        loss = recon + beta * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += 1
    print(epoch, f"recon {recon.item():.3f} kl {kl.item():.3f}")
