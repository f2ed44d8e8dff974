"""A network with sine activations learns one picture from its pixels."""
import math

import torch
import torch.nn as nn


class Sine(nn.Module):
    def __init__(self, i, o, omega, first=False):
        super().__init__()
        self.omega, self.lin = omega, nn.Linear(i, o)
        bound = 1 / i if first else math.sqrt(6 / i) / omega
        nn.init.uniform_(self.lin.weight, -bound, bound)

    def forward(self, x):
        return torch.sin(self.omega * self.lin(x))


def picture(xy):
    x, y = xy[:, 0], xy[:, 1]
    return torch.sin(5 * x + 2 * y) * torch.cos(4 * y) + (x**2 + y**2 < 0.25).float() * 0.5


def grid(n, shift=0.0):
    g = torch.linspace(-1, 1, n)[: n - 1 if shift else n] + shift
    return torch.stack(torch.meshgrid(g, g, indexing="ij"), -1).reshape(-1, 2)


torch.manual_seed(10)
pixels = grid(40)
value = picture(pixels)
mean, std = value.mean(), value.std()
value = (value - mean) / std
between = grid(40, shift=1 / 39)
wanted = (picture(between) - mean) / std

net = nn.Sequential(Sine(2, 64, 10.0, first=True), Sine(64, 64, 10.0), nn.Linear(64, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(200):
    loss = (net(pixels) - value).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 25 == 0:
        print(f"{it:3d}: psnr {-10 * math.log10(loss.item()):.2f} dB")
with torch.no_grad():
    err = (net(between) - wanted).pow(2).mean()
print(f"between the pixels: mse {err:.4f}")
