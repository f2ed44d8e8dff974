import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM:
    """Ascend to the worst nearby point, take the gradient there, step from the original weights."""

    def __init__(self, params, optimizer, rho=0.05):
        self.params, self.optimizer, self.rho = list(params), optimizer, rho

    @torch.no_grad()
    def ascend(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm() + 1e-12
        self.moves = [p.grad * (self.rho / norm) for p in self.params]
        for p, e in zip(self.params, self.moves):
            p.add_(e)
        self.optimizer.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, e in zip(self.params, self.moves):
            p.sub_(e)
        self.optimizer.step()
        self.optimizer.zero_grad()


def checker(n):
    x = torch.rand(n, 2) * 3.4 - 1.7
    return x, ((x[:, 0].floor() + x[:, 1].floor()) % 2).long()


torch.manual_seed(160)
net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
sam = SAM(net.parameters(), torch.optim.Adam(net.parameters(), lr=5e-3))
for step in range(250):
    x, y = checker(96)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    sam.ascend()
    F.cross_entropy(net(x), y).backward()
    sam.descend()
    if step % 50 == 0:
        print(f"step {step:3d} loss {loss.item():.3f}")
x, y = checker(500)
with torch.no_grad():
    print("accuracy", (net(x).argmax(1) == y).float().mean().item())
