import torch
import torch.nn as nn


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 6))

    def forward(self, x):
        return self.net(x)


def distance(a, b):
    return ((a - b).pow(2).sum(-1) + 1e-8).sqrt()


def triplets(n, families):
    a = torch.randint(0, len(families), (n,))
    b = (a + torch.randint(1, len(families), (n,))) % len(families)
    noise = lambda: 0.6 * torch.randn(n, 10)
    return families[a] + noise(), families[a] + noise(), families[b] + noise()


torch.manual_seed(1)
families = torch.randn(9, 10)
model = Embedder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(600):
    anchor, same, other = (model(x) for x in triplets(32, families))
    margin = distance(anchor, same) - distance(anchor, other) + 1.0
    loss = torch.relu(margin).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item(), "violations", (margin > 0).float().mean().item())
