"""Fit a sound field with a network of sine activations."""
import torch
from torch import nn


class SineLayer(nn.Module):
    def __init__(self, n_in, n_out, omega=30.0):
        super().__init__()
        self.omega = omega
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))


class Field(nn.Module):
    def __init__(self, width=64, depth=6):
        super().__init__()
        dims = [2] + [width] * depth
        self.layers = nn.ModuleList(SineLayer(a, b) for a, b in zip(dims, dims[1:]))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


def pressure(points):
    px, py = points[:, :1], points[:, 1:]
    return torch.sin(5 * px + 1) * torch.cos(4 * py) + 0.5 * torch.sin(7 * (px + py))


torch.manual_seed(2111)
field = Field()
optimizer = torch.optim.Adam(field.parameters(), lr=1e-4)
points = 2 * torch.rand(2000, 2) - 1
values = pressure(points)
for epoch in range(10):
    total = 0.0
    for idx in torch.randperm(2000).split(200):
        loss = nn.functional.mse_loss(field(points[idx]), values[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 10
    print(f"epoch {epoch} mse {total:.4f}")
with torch.no_grad():
    fresh = 2 * torch.rand(500, 2) - 1
    print("fresh points", nn.functional.mse_loss(field(fresh), pressure(fresh)).item())
