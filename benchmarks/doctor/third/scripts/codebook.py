"""A small VQ-VAE on points."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(153)
anchors = torch.randn(8, 6)


class VQVAE(nn.Module):
    def __init__(self, codes=16, dim=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, dim))
        self.dec = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 6))
        self.codebook = nn.Embedding(codes, dim)
        nn.init.normal_(self.codebook.weight, std=0.5)

    def forward(self, x):
        z = self.enc(x)
        with torch.no_grad():
            index = torch.cdist(z, self.codebook.weight).argmin(dim=1)
        q = self.codebook(index)
        codebook_loss = F.mse_loss(q, z.detach())
        commit = F.mse_loss(z, q.detach())
        q = z + (q - z).detach()
        return self.dec(q), codebook_loss + 0.25 * commit, index


model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    x = anchors[torch.randint(0, 8, (64,))] + 0.1 * torch.randn(64, 6)
    recon, vq, index = model(x)
    loss = F.mse_loss(recon, x) + vq
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, f"{loss.item():.4f}", index.unique().numel())
