import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    """Residual block that begins as the identity."""

    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        nn.init.zeros_(self.down.weight)
        nn.init.zeros_(self.down.bias)

    def forward(self, h):
        return h + self.down(F.gelu(self.up(h)))


class Depth(nn.Module):
    def __init__(self, width=32, blocks=6):
        super().__init__()
        self.inp = nn.Linear(2, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(blocks)))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.blocks(torch.tanh(self.inp(x)))).squeeze(-1)


def soundings(n):
    xy = torch.randn(n, 2)
    z = torch.exp(-((xy - 0.5) ** 2).sum(1)) - torch.exp(-((xy + 0.7) ** 2).sum(1) * 2)
    return xy, (3 * z + 0.05 * torch.randn(n))


torch.manual_seed(5)
train = DataLoader(TensorDataset(*soundings(1200)), batch_size=64, shuffle=True)
test_x, test_z = soundings(300)
model = Depth()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
for epoch in range(12):
    model.train()
    for xy, z in train:
        optimizer.zero_grad()
        loss = F.mse_loss(model(xy), z)
        loss.backward()
        optimizer.step()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        err = F.mse_loss(model(test_x), test_z)
    print(f"epoch {epoch:2d} last batch {loss.item():.4f} test {err:.4f}")
