import torch
import torch.nn as nn
import torch.nn.functional as F


class Quantiser(nn.Module):
    def __init__(self, codes=16, dim=4):
        super().__init__()
        self.table = nn.Embedding(codes, dim)
        nn.init.uniform_(self.table.weight, -0.5, 0.5)

    def forward(self, z):
        distance = torch.cdist(z.detach(), self.table.weight.detach())
        q = self.table(distance.argmin(1))
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 4))
        self.vq = Quantiser()
        self.dec = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 16))

    def forward(self, x):
        q, loss = self.vq(self.enc(x))
        return self.dec(q), loss


torch.manual_seed(0)
shapes = torch.randn(12, 16)
data = shapes[torch.randint(0, 12, (2500,))] + 0.1 * torch.randn(2500, 16)
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    for idx in torch.randperm(len(data)).split(50):
        out, vq_loss = model(data[idx])
        rec = F.mse_loss(out, data[idx])
        loss = rec + vq_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: rec {rec.item():.4f} vq {vq_loss.item():.4f}")
