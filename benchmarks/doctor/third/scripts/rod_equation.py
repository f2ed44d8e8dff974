"""Solve u'' = -u on [0, 3] with a small network and LBFGS."""
import torch
import torch.nn as nn

torch.set_default_dtype(torch.float64)
torch.manual_seed(345)
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
x = torch.linspace(0, 3, 40).unsqueeze(1).requires_grad_(True)
optimizer = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=5, history_size=20, line_search_fn="strong_wolfe")


def residual():
    u = net(x)
    du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    ddu = torch.autograd.grad(du.sum(), x, create_graph=True)[0]
    inner = (ddu + u).pow(2).mean()
    start = (u[0] - 0.0).pow(2).sum() + (du[0] - 1.0).pow(2).sum()
    return inner + start


def closure():
    optimizer.zero_grad()
    loss = residual()
    loss.backward()
    return loss


for step in range(40):
    loss = optimizer.step(closure)
    if step % 10 == 0:
        print(step, f"{loss.item():.3e}")
with torch.no_grad():
    print("largest error", (net(x) - torch.sin(x)).abs().max().item())
