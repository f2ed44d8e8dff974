import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class PreNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, width)
        self.fc2 = nn.Linear(width, width)

    def forward(self, h):
        return h + 0.3 * self.fc2(F.relu(self.fc1(self.norm(h))))


class Tower(nn.Module):
    def __init__(self, inputs, classes, width=40, depth=24):
        super().__init__()
        self.stem = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList(PreNorm(width) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=False) if self.training else block(h)
        return self.head(self.norm(h))


def cells(n):
    x = torch.randn(n, 8)
    y = (x[:, 0] + 0.5 * x[:, 1] * x[:, 2] > 0).long() + (x[:, 3] - 0.5 * x[:, 4] > 0).long()
    return x, y


torch.manual_seed(24)
x, y = cells(800)
xt, yt = cells(300)
model = Tower(8, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(80):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        acc = (model(xt).argmax(1) == yt).float().mean()
    print(f"epoch {epoch}: loss {total / len(x):.3f} accuracy {acc:.3f}")
