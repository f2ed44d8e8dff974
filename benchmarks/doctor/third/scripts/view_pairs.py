"""Learn views of signals without labels, SimSiam style."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(351)
base = torch.randn(30, 16)


def views(n=64):
    x = base[torch.randint(0, 30, (n,))]
    return x + 0.3 * torch.randn(n, 16), x + 0.3 * torch.randn(n, 16)


class SimSiam(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim), nn.BatchNorm1d(dim, affine=False))
        self.predictor = nn.Sequential(nn.Linear(dim, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, dim))

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        return self.predictor(za), self.predictor(zb), za.detach(), zb.detach()


def distance(p, z):
    return -F.cosine_similarity(p, z, dim=1).mean()


model = SimSiam()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for step in range(120):
    pa, pb, za, zb = model(*views())
    loss = 0.5 * (distance(pa, zb) + distance(pb, za))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        spread = F.normalize(za, dim=1).std(0).mean().item()
        print(step, f"{loss.item():.4f} spread {spread:.3f}")
