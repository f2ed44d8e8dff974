import math

import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.linspace(-3, 3, 80).unsqueeze(1)
y = torch.sin(x) * torch.exp(-0.1 * x**2) + 0.02 * torch.randn_like(x)

net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.8, max_iter=12, history_size=10, line_search_fn="strong_wolfe")
criterion = nn.MSELoss()


def closure():
    optimizer.zero_grad()
    out = net(x)
    loss = criterion(out, y)
    loss.backward()
    return loss


for i in range(12):
    loss = optimizer.step(closure)
    if i % 3 == 0:
        print(f"round {i}: rmse {math.sqrt(loss.item()):.4f}")
with torch.no_grad():
    between = (x[1:] + x[:-1]) / 2
    gap = net(between) - torch.sin(between) * torch.exp(-0.1 * between**2)
print(f"largest gap between the knots {gap.abs().max():.4f}")
