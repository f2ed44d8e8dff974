import torch
import torch.nn as nn
import torch.nn.functional as F


class Quantiser(nn.Module):
    def __init__(self, codes=16, width=4, beta=0.25):
        super().__init__()
        self.book = nn.Embedding(codes, width)
        nn.init.uniform_(self.book.weight, -0.5, 0.5)
        self.beta = beta

    def forward(self, z):
        index = torch.cdist(z, self.book.weight).argmin(-1)
        q = self.book(index)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss, index


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
        self.quantiser = Quantiser()
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        q, vq, index = self.quantiser(self.encoder(x))
        return self.decoder(q), vq, index


torch.manual_seed(2)
kinds = torch.randn(10, 16)
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(400):
    x = kinds[torch.randint(0, 10, (48,))] + 0.1 * torch.randn(48, 16)
    rebuilt, vq, index = model(x)
    rec = F.mse_loss(rebuilt, x)
    loss = rec + vq
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 0:
        print(f"step {step} rec {rec.item():.4f} vq {vq.item():.4f} used {index.unique().numel()}")
