import copy

import torch
from torch import nn
import torch.nn.functional as F


class EMA:
    def __init__(self, model, decay=0.99):
        self.decay, self.updates = decay, 0
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    def update(self, model):
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        with torch.no_grad():
            for mine, other in zip(self.model.parameters(), model.parameters()):
                mine.lerp_(other, 1 - decay)
            for mine, other in zip(self.model.buffers(), model.buffers()):
                mine.copy_(other)


def noisy(n):
    x = torch.rand(n, 2) * 4 - 2
    return x, (torch.sin(2 * x[:, :1]) + x[:, 1:] ** 2 / 2 + 0.3 * torch.randn(n, 1))


torch.manual_seed(3)
net = nn.Sequential(nn.Linear(2, 32), nn.BatchNorm1d(32), nn.SiLU(), nn.Linear(32, 1))
ema = EMA(net)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
x_val, y_val = noisy(500)
for step in range(1500):
    net.train()
    x, y = noisy(24)
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(net)
    if step % 300 == 299:
        net.eval()
        with torch.no_grad():
            print(step + 1, F.mse_loss(net(x_val), y_val).item(), F.mse_loss(ema.model(x_val), y_val).item())
