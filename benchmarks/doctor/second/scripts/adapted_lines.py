"""MAML on a family of curves with torch.func."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap

torch.manual_seed(72)
net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
INNER = 0.1


def tasks(n, points=10):
    amp, phase = 0.5 + 1.5 * torch.rand(n, 1, 1), 3.0 * torch.rand(n, 1, 1)
    x = 3.4 * (torch.rand(n, 2 * points, 1) - 0.5)
    y = amp * torch.sin(2 * x + phase)
    return x[:, :points], y[:, :points], x[:, points:], y[:, points:]


def task_loss(params, x, y):
    return F.mse_loss(functional_call(net, params, (x,)), y)


def adapt(params, x, y, steps=1):
    for _ in range(steps):
        slopes = grad(task_loss)(params, x, y)
        params = {k: p - INNER * slopes[k] for k, p in params.items()}
    return params


def query_loss(params, xs, ys, xq, yq):
    return task_loss(adapt(params, xs, ys), xq, yq)


optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
for it in range(250):
    params = dict(net.named_parameters())
    losses = vmap(query_loss, in_dims=(None, 0, 0, 0, 0))(params, *tasks(16))
    loss = losses.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 50 == 0:
        print(f"{it}: loss after adaptation {loss.item():.3f}")

params = {k: p.detach() for k, p in net.named_parameters()}
xs, ys, xq, yq = tasks(100)
before = vmap(task_loss, in_dims=(None, 0, 0))(params, xq, yq).mean()
after = vmap(query_loss, in_dims=(None, 0, 0, 0, 0))(params, xs, ys, xq, yq).mean()
print(f"new tasks: before {before:.3f} after one step {after:.3f}")
