"""Fit a saddle surface; the batch is processed in slices to save memory."""
import torch
from torch import nn
from torch.nn import functional as F


class Surface(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))

    def forward(self, xy):
        return self.net(xy)


def saddle(n):
    xy = torch.rand(n, 2) * 2 - 1
    return xy * 1.7, (xy[:, :1] ** 2 - xy[:, 1:] ** 2) * 2


def update(model, optimizer, xy, z, slices):
    optimizer.zero_grad(set_to_none=True)
    value = 0.0
    for a, b in zip(xy.chunk(slices), z.chunk(slices)):
        loss = F.mse_loss(model(a), b)
        loss.backward()
        value += loss.item() / slices
    for p in model.parameters():
        p.grad.div_(slices)
    optimizer.step()
    return value


torch.manual_seed(101)
model = Surface()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(200):
    value = update(model, optimizer, *saddle(64), slices=4)
    if step % 40 == 0:
        print(f"step {step:3d}  mse {value:.4f}")
xy, z = saddle(500)
with torch.no_grad():
    print("new points", F.mse_loss(model(xy), z).item())
