import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(24)


class Codebook(nn.Module):
    def __init__(self, size=24, dim=8, beta=0.25):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(size, dim) * 0.5)
        self.beta = beta

    def forward(self, z):
        index = torch.cdist(z, self.codes).argmin(-1)
        q = self.codes[index]
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss, index


class VQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 8))
        self.book = Codebook()
        self.dec = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 16))

    def forward(self, x):
        q, loss, index = self.book(self.enc(x))
        return self.dec(q), loss, index


images = torch.tensor(load_digits().images[:1000], dtype=torch.float32) / 16
tiles = images.unfold(1, 4, 4).unfold(2, 4, 4).reshape(-1, 16)
model = VQ()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    for batch in tiles[torch.randperm(len(tiles))].split(100):
        out, vq_loss, index = model(batch)
        rebuild = F.mse_loss(out, batch)
        optimizer.zero_grad()
        (rebuild + vq_loss).backward()
        optimizer.step()
    print(f"epoch {epoch}: rebuild {rebuild.item():.4f} (variance {batch.var():.4f}) used {index.unique().numel()}")
