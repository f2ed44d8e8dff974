import torch
from torch import nn

torch.manual_seed(40)


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return self.net(x)


def distance(a, b):
    return ((a - b) ** 2).sum(dim=1).sqrt()


def contrastive(a, b, same, margin=1.0):
    d = distance(a, b)
    return (same * d**2 + (1 - same) * (margin - d).clamp(min=0) ** 2).mean()


kinds = torch.randn(6, 10)
labels = torch.arange(600) % 6
items = kinds[labels] + 0.4 * torch.randn(600, 10)

model = Embedder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(1, 201):
    i = torch.randint(0, 600, (64,))
    j = torch.randint(0, 600, (64,))
    same = (labels[i] == labels[j]).float()
    loss = contrastive(model(items[i]), model(items[j]), same)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
