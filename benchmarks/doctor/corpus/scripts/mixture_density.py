"""Learn an ambiguous inverse: x = y + 0.3 sin(2 pi y), predict y from x."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MDN(nn.Module):
    def __init__(self, hidden=48, k=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi, self.mu, self.log_sigma = nn.Linear(hidden, k), nn.Linear(hidden, k), nn.Linear(hidden, k)

    def forward(self, x):
        h = self.body(x)
        return F.log_softmax(self.pi(h), dim=1), self.mu(h), self.log_sigma(h).clamp(-4, 2)


def mdn_loss(log_pi, mu, log_sigma, y):
    log_normal = -0.5 * ((y - mu) / log_sigma.exp()) ** 2 - log_sigma - 0.5 * math.log(2 * math.pi)
    return -torch.logsumexp(log_pi + log_normal, dim=1).mean()


def draw(n):
    y = torch.rand(n, 1) * 2 - 1
    x = y + 0.3 * torch.sin(2 * math.pi * y) + 0.03 * torch.randn(n, 1)
    return x * 1.7, y


torch.manual_seed(183)
mdn = MDN()
optimizer = torch.optim.Adam(mdn.parameters(), lr=5e-3)
for step in range(300):
    x, y = draw(128)
    loss = mdn_loss(*mdn(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"step {step:3d} nll {loss.item():.3f}")
x, y = draw(1000)
with torch.no_grad():
    print("held-out nll", mdn_loss(*mdn(x), y).item())
