"""Variational autoencoder on blobs."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class VAE(nn.Module):
    def __init__(self, pixels=100, hidden=48, latent=2):
        super().__init__()
        self.fc1 = nn.Linear(pixels, hidden)
        self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.fc3, self.fc4 = nn.Linear(latent, hidden), nn.Linear(hidden, pixels)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.mu(h), self.logvar(h)

    def reparameterize(self, mu, logvar):
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def blobs(n):
    centre = torch.rand(n, 2, 1, 1) * 8 + 1
    r, c = torch.arange(10.0)[:, None], torch.arange(10.0)[None]
    return torch.exp(-((r - centre[:, 0]) ** 2 + (c - centre[:, 1]) ** 2) / 3).flatten(1)


def loss_function(recon, x, mu, logvar, beta):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + beta * kld) / len(x)


torch.manual_seed(1)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loader = DataLoader(blobs(640), batch_size=32, shuffle=True)
test = blobs(128)
for epoch in range(10):
    beta = min(1.0, epoch / 5)
    model.train()
    for x in loader:
        recon, mu, logvar = model(x)
        loss = loss_function(recon, x, mu, logvar, beta)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        recon, mu, logvar = model(test)
        print(f"epoch {epoch} beta {beta:.1f} test {loss_function(recon, test, mu, logvar, beta).item():.3f}")
