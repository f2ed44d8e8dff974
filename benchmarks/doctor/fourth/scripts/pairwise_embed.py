import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, dim))

    def forward(self, x):
        return self.body(x)


def make_pairs(n):
    base = torch.randn(n, 12)
    same = torch.rand(n) < 0.5
    other = torch.where(same[:, None], base + 0.2 * torch.randn(n, 12), torch.randn(n, 12))
    copies = torch.rand(n) < 0.02
    other = torch.where((same & copies)[:, None], base, other)
    return base, other, same.float()


def distance(a, b):
    return (a - b).pow(2).sum(dim=1).sqrt()


def contrastive(d, same, margin=1.0):
    return (same * d.pow(2) + (1 - same) * F.relu(margin - d).pow(2)).mean()


net = Embedder()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
left, right, same = make_pairs(4096)
for epoch in range(4):
    order = torch.randperm(len(left))
    for idx in order.split(64):
        d = distance(net(left[idx]), net(right[idx]))
        loss = contrastive(d, same[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.detach():.4f}")
