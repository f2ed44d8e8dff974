import torch
import torch.nn as nn
import torch.nn.functional as F


class Bud(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.block1 = nn.Sequential(nn.Linear(12, 32), nn.LayerNorm(32), nn.GELU())
        self.block2 = nn.Sequential(nn.Linear(32, 32), nn.LayerNorm(32), nn.GELU())
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.block2(self.block1(x)))


def blossoms(n, seed, classes):
    centres = torch.randn(classes, 12, generator=torch.Generator().manual_seed(seed))
    y = torch.randint(0, classes, (n,))
    return centres[y] + 0.8 * torch.randn(n, 12), y


def epoch(model, optimizer, x, y):
    total = 0.0
    for rows in torch.randperm(len(x)).split(32):
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    return total / len(x)


torch.manual_seed(0)
model = Bud(6)
data = blossoms(480, 1, 6)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for i in range(3):
    print("before", i, epoch(model, optimizer, *data))

model.head = nn.Linear(32, 4)
model.block1.requires_grad_(False)
model.block2.requires_grad_(False)
data, held = blossoms(480, 2, 4), blossoms(120, 2, 4)
optimizer = torch.optim.Adam(model.head.parameters(), lr=5e-3)
for i in range(9):
    if i == 3:
        model.block2.requires_grad_(True)
        optimizer.add_param_group({"params": model.block2.parameters(), "lr": 1e-3})
    if i == 6:
        model.block1.requires_grad_(True)
        optimizer.add_param_group({"params": model.block1.parameters(), "lr": 5e-4})
    print("after", i, epoch(model, optimizer, *data))
with torch.no_grad():
    print("accuracy", (model(held[0]).argmax(1) == held[1]).float().mean().item())
