"""Weigh barrels from their dimensions."""
import torch
from torch import nn


class BarrelNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(6, 32)
        self.l2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x)))


def barrels(n):
    x = torch.randn(n, 6)
    return x, x[:, :1] * x[:, 1:2] + 0.5 * x[:, 2:3]


torch.manual_seed(16)
net = BarrelNet()
criterion = nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(net.parameters(), lr=0.002, momentum=0.9)
x_train, y_train = barrels(1280)
x_val, y_val = barrels(256)
for epoch in range(10):
    total = 0.0
    for rows in torch.randperm(1280).split(128):
        optimizer.zero_grad()
        loss = criterion(net(x_train[rows]), y_train[rows])
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        val = criterion(net(x_val), y_val).item() / 256
    print(f"epoch {epoch} train {total / 1280:.4f} val {val:.4f}")
