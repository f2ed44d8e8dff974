import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(30)
people = torch.randn(20, 12)


def draw(n):
    """Pairs of signature vectors, half of them by the same person."""
    a = torch.randint(0, 20, (n,))
    same = torch.rand(n) < 0.5
    b = torch.where(same, a, (a + torch.randint(1, 20, (n,))) % 20)
    xa = people[a] + 0.2 * torch.randn(n, 12)
    xb = people[b] + 0.2 * torch.randn(n, 12)
    duplicate = same & (torch.rand(n) < 0.1)
    xb[duplicate] = xa[duplicate]
    return xa, xb, same.float()


embed = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.Adam(embed.parameters(), lr=3e-3)
margin = 1.0

for step in range(150):
    xa, xb, same = draw(64)
    d2 = (embed(xa) - embed(xb)).pow(2).sum(1)
    dist = d2.sqrt()
    loss = (same * dist**2 + (1 - same) * F.relu(margin - dist) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print("step", step, "loss", loss.item())

with torch.no_grad():
    xa, xb, same = draw(300)
    d = (embed(xa) - embed(xb)).norm(dim=1)
    print("accuracy", ((d < margin / 2).float() == same).float().mean().item())
