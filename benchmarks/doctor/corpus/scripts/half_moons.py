import math

import torch
from torch import nn

torch.manual_seed(6)


def moons(n):
    t = torch.rand(n) * math.pi
    y = torch.randint(0, 2, (n,))
    x = torch.stack([t.cos() + y * 1.0 - 0.5, t.sin() * (1 - 2 * y) + 0.25 * (2 * y - 1)], 1)
    return x + 0.1 * torch.randn(n, 2), y


X, Y = moons(400)
Xv, Yv = moons(100)
mlp = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 2))
optimiser = torch.optim.Adam(mlp.parameters(), lr=0.01)
loss_function = nn.CrossEntropyLoss()

for epoch in range(60):
    optimiser.zero_grad()
    loss = loss_function(mlp(X), Y)
    loss.backward
    optimiser.step()
    if epoch % 15 == 0:
        with torch.no_grad():
            val = loss_function(mlp(Xv), Yv)
        print("Epoch %d train %.4f val %.4f" % (epoch, loss.item(), val.item()))

with torch.no_grad():
    print("accuracy", (mlp(Xv).argmax(1) == Yv).float().mean().item())
