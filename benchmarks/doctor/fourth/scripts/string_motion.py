import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)


def derivative(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def residual(t):
    u = net(t)
    du = derivative(u, t)
    ddu = derivative(du, t)
    return ddu + 4 * u


start = torch.zeros(1, 1, requires_grad=True)
for step in range(600):
    t = (2 * torch.rand(64, 1)).requires_grad_(True)
    physics = residual(t).pow(2).mean()
    u0 = net(start)
    boundary = (u0 - 1).pow(2).mean() + derivative(u0, start).pow(2).mean()
    loss = physics + 10 * boundary
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(f"{step}: physics {physics.item():.4f} boundary {boundary.item():.5f}")
with torch.no_grad():
    grid = torch.linspace(0, 2, 50).unsqueeze(1)
    print("largest error", (net(grid) - torch.cos(2 * grid)).abs().max().item())
