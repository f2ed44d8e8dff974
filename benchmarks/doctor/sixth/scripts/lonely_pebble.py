import torch
import torch.nn as nn


def distances(points):
    """All distances between the embedded stones of a heap."""
    difference = points[:, None, :] - points[None, :, :]
    return torch.sqrt((difference**2).sum(-1))


class Placer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 2))

    def forward(self, stones):
        return self.net(stones)


torch.manual_seed(3)
stones = torch.randn(60, 5)
wanted = torch.cdist(stones, stones) / 2

model = Placer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(150):
    placed = model(stones)
    stress = ((distances(placed) - wanted) ** 2).mean()
    optimizer.zero_grad()
    stress.backward()
    optimizer.step()
    if step % 15 == 0:
        print(step, stress.item())
