import math

import torch
import torch.nn.functional as F


class WaveNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.GRU(1, 32, batch_first=True)
        self.fc = torch.nn.Linear(32, 1)

    def forward(self, x):
        return self.fc(self.rnn(x)[1][0])


def buoy(n, steps=25):
    """predict the height five steps ahead"""
    t = torch.arange(steps + 5) * 0.3
    swell = torch.sin(t + 2 * math.pi * torch.rand(n, 1)) + 0.4 * torch.sin(2.1 * t + 2 * math.pi * torch.rand(n, 1))
    swell = swell + 0.05 * torch.randn(n, steps + 5)
    return swell[:, :steps, None], swell[:, -1:]


torch.manual_seed(104)
net = WaveNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(150):
    x, y = buoy(64)
    for p in net.parameters():
        p.grad = None
    loss = F.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    if i % 30 == 0:
        print("iteration", i, "loss", round(loss.item(), 4))
x, y = buoy(300)
with torch.no_grad():
    print("rmse", F.mse_loss(net(x), y).sqrt().item())
