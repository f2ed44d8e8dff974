"""Solve u'' + u' + 4u = 0, u(0) = 1, u'(0) = 0 with a network."""
import torch
from torch import nn

torch.manual_seed(166)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
t = torch.linspace(0, 3, 60).unsqueeze(1).requires_grad_(True)
t0 = torch.zeros(1, 1, requires_grad=True)


def derivative(u, x):
    return torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]


def residual():
    u = net(t - 1.5)
    du = derivative(u, t)
    ddu = derivative(du, t)
    ode = (ddu + du + 4 * u).pow(2).mean()
    u0 = net(t0 - 1.5)
    start = (u0 - 1).pow(2).mean() + derivative(u0, t0).pow(2).mean()
    return 0.05 * ode + start


optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(250):
    optimizer.zero_grad()
    loss = residual()
    loss.backward()
    optimizer.step()
    if it % 50 == 0:
        print(f"it {it:4d} residual {loss.item():.5f}")

w = (4 - 0.25) ** 0.5
exact = torch.exp(-t / 2) * (torch.cos(w * t) + torch.sin(w * t) / (2 * w))
with torch.no_grad():
    print("largest error", (net(t - 1.5) - exact).abs().max().item())
