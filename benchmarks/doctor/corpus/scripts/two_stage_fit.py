import math

import torch
from torch import nn

torch.manual_seed(195)
x = torch.linspace(-1, 1, 100).unsqueeze(1)
y = torch.sin(math.pi * x) + 0.3 * torch.sin(3 * math.pi * x)

model = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
mse = nn.MSELoss()

# stage 1: rough fit
adam = torch.optim.Adam(model.parameters(), lr=1e-2)
for it in range(120):
    adam.zero_grad()
    loss = mse(model(x * 1.7), y)
    loss.backward()
    adam.step()
    if it % 40 == 0:
        print(f"adam  {it:3d} {loss.item():.6f}")

# stage 2: polish
lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=15, history_size=10, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    value = mse(model(x * 1.7), y)
    value.backward()
    return value


for it in range(5):
    loss = lbfgs.step(closure)
    print(f"lbfgs {it:3d} {loss.item():.8f}")
