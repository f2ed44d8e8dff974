import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(122)
mix = torch.randn(5, 30) / 5**0.5


def views(n):
    code = torch.randn(n, 5)
    return [code @ mix + 0.3 * torch.randn(n, 30) for _ in range(2)], code


class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(30, 64, bias=False), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16, bias=False), nn.BatchNorm1d(16)
        )
        self.predictor = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16))

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        return self.predictor(za), self.predictor(zb), za.detach(), zb.detach()


def similarity_loss(p, z):
    return -F.cosine_similarity(p, z, dim=1).mean()


model = SimSiam()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(200):
    (a, b), _ = views(64)
    pa, pb, za, zb = model(a, b)
    loss = (similarity_loss(pa, zb) + similarity_loss(pb, za)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print("step", step, "loss", round(loss.item(), 3))

model.eval()
with torch.no_grad():
    (a, _), code = views(400)
    z = model.encoder(a)
    fit = torch.linalg.lstsq(z[:300], code[:300]).solution
    r2 = 1 - (z[300:] @ fit - code[300:]).pow(2).mean() / code[300:].var()
print("linear readout of the code: R2 %.2f" % r2.item())
