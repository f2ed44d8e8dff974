import torch
import torch.nn as nn
import torch.nn.functional as F


class VQ(nn.Module):
    def __init__(self, codes=24, dim=4):
        super().__init__()
        self.book = nn.Parameter(torch.randn(codes, dim) * 0.5)

    def forward(self, z):
        index = torch.cdist(z, self.book).argmin(1)
        q = self.book[index]
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss, index


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 4))
        self.vq = VQ()
        self.dec = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 16))

    def forward(self, x):
        q, vq_loss, index = self.vq(self.enc(x))
        return self.dec(q), vq_loss, index


torch.manual_seed(161)
words = torch.randn(8, 16)


def draw(n):
    return words[torch.randint(0, 8, (n,))] + 0.1 * torch.randn(n, 16)


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(250):
    x = draw(64)
    out, vq_loss, index = model(x)
    rec = F.mse_loss(out, x)
    optimizer.zero_grad()
    (rec + vq_loss).backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: reconstruction {rec.item():.3f}, codes in use {index.unique().numel()}")
with torch.no_grad():
    x = draw(300)
    print("held-out reconstruction", F.mse_loss(model(x)[0], x).item())
