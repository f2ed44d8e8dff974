"""Soft clustering with slot-like attention, unbatched prototypes."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(83)


class Slots(nn.Module):
    def __init__(self, dim=16, slots=4):
        super().__init__()
        self.slots = nn.Parameter(torch.randn(slots, dim) * 0.5)
        self.prior = nn.Parameter(torch.zeros(slots))
        self.enc = nn.Linear(2, dim)
        self.q, self.k = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.dec = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, points):
        x = self.enc(points)
        slots = self.slots.expand(len(points), -1, -1)
        scores = self.q(slots) @ self.k(x).transpose(1, 2) / x.size(-1) ** 0.5
        share = scores.softmax(dim=1)
        weight = share / share.sum(dim=2, keepdim=True)
        slots = slots + weight @ x
        prior = F.softmax(self.prior, dim=0)
        centres = self.dec(slots)
        d2 = (points[:, :, None] - centres[:, None]).pow(2).sum(-1)
        return -torch.logsumexp(prior.log() - d2 / 0.1, dim=-1).mean()


def clouds(n=32, each=6):
    centres = torch.rand(n, 4, 1, 2) * 2 - 1
    points = centres + 0.05 * torch.randn(n, 4, each, 2)
    return points.reshape(n, 4 * each, 2)


model = Slots()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(100):
    loss = model(clouds())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(step, f"{loss.item():.4f}")
