"""Temperature of a cooling rod: u_t = k u_xx, u(x,0) = sin(pi x), ends held at zero."""
import math

import torch
import torch.nn as nn

K = 0.3
torch.manual_seed(27)
net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))


def u(x, t):
    return net(torch.cat([2 * x - 1, 2 * t - 1], 1))


def derivative(f, v):
    return torch.autograd.grad(f.sum(), v, create_graph=True)[0]


def pde_residual(n):
    x = torch.rand(n, 1, requires_grad=True)
    t = torch.rand(n, 1, requires_grad=True)
    f = u(x, t)
    return derivative(f, t) - K * derivative(derivative(f, x), x)


optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 350, eta_min=4e-4)
for step in range(350):
    inner = pde_residual(128).pow(2).mean()
    x0 = torch.rand(64, 1)
    start = (u(x0, torch.zeros_like(x0)) - torch.sin(math.pi * x0)).pow(2).mean()
    tb = torch.rand(64, 1)
    ends = u(torch.zeros_like(tb), tb).pow(2).mean() + u(torch.ones_like(tb), tb).pow(2).mean()
    loss = inner + 10 * start + 10 * ends
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 50 == 0:
        print(f"{step:3d}: equation {inner.item():.4f} start {start.item():.4f} ends {ends.item():.4f}")

with torch.no_grad():
    x, t = torch.rand(500, 1), torch.rand(500, 1)
    exact = torch.sin(math.pi * x) * torch.exp(-K * math.pi**2 * t)
    print(f"largest error {(u(x, t) - exact).abs().max():.3f}")
