"""A deep residual network whose blocks start as the identity."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class GatedBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, width)
        self.fc2 = nn.Linear(width, width)
        self.gate = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.gate * self.fc2(F.relu(self.fc1(x)))


class DeepNet(nn.Module):
    def __init__(self, depth=24, width=32):
        super().__init__()
        self.stem = nn.Linear(6, width)
        self.blocks = nn.Sequential(*[GatedBlock(width) for _ in range(depth)])
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


def data(n):
    x = torch.randn(n, 6)
    return x, torch.sin(2 * x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3]


torch.manual_seed(115)
net = DeepNet()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(150):
    x, y = data(128)
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step:3d} loss {loss.item():.4f}")
x, y = data(500)
with torch.no_grad():
    print("test", F.mse_loss(net(x), y).item())
