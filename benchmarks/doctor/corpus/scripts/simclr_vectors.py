import torch
import torch.nn as nn
import torch.nn.functional as F


class SimCLR(nn.Module):
    def __init__(self, dim=32, hidden=64, out=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.projector = nn.Linear(hidden, out)

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)


def info_nce(z, temperature=0.3):
    n = len(z) // 2
    sim = z @ z.t() / temperature
    sim.fill_diagonal_(float("-inf"))
    partner = torch.cat([torch.arange(n, 2 * n), torch.arange(0, n)])
    return F.cross_entropy(sim, partner)


torch.manual_seed(121)
protos = torch.randn(10, 32)


def objects(n):
    y = torch.randint(0, 10, (n,))
    return protos[y] + 0.5 * torch.randn(n, 32), y


def augment(x):
    keep = (torch.rand_like(x) > 0.2).float()
    return keep * x + 0.3 * torch.randn_like(x)


net = SimCLR()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for it in range(150):
    x, _ = objects(64)
    loss = info_nce(net(torch.cat([augment(x), augment(x)])))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 30 == 0:
        print(f"it {it}: contrastive loss {loss.item():.3f}")

# nearest neighbour in feature space
with torch.no_grad():
    (xa, ya), (xb, yb) = objects(300), objects(200)
    nearest = (net(xb) @ net(xa).t()).argmax(1)
    print("1-NN accuracy", (ya[nearest] == yb).float().mean().item())
