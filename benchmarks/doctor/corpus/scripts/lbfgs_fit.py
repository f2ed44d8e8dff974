"""Fit a resonance curve with a tiny network and LBFGS."""
import torch
from torch import nn

torch.manual_seed(110)
f = torch.linspace(-2, 2, 80).unsqueeze(1)
amplitude = 1 / (1 + 4 * (f - 0.5) ** 2) - 0.3 / (1 + 8 * (f + 0.8) ** 2)

net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=10, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = criterion(net(f), amplitude)
    loss.backward()
    return loss


for step in range(12):
    loss = optimizer.step(closure)
    print(f"step {step:2d} loss {loss.item():.6f}")

with torch.no_grad():
    fine = torch.linspace(-2, 2, 41).unsqueeze(1)
    peak = fine[net(fine).argmax()].item()
print(f"peak at {peak:.2f}")
