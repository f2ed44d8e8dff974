"""Learn to learn sine curves from five points."""
import torch
import torch.nn.functional as F


def init(width=32):
    shapes = [(width, 1), (width,), (width, width), (width,), (1, width), (1,)]
    return [
        (torch.randn(s) * (1 / (2 + s[-1])) ** 0.5 if len(s) == 2 else torch.zeros(s)).requires_grad_() for s in shapes
    ]


def forward(p, x):
    x = torch.relu(F.linear(x, p[0], p[1]))
    x = torch.relu(F.linear(x, p[2], p[3]))
    return F.linear(x, p[4], p[5])


def task():
    amplitude, phase = 0.5 + torch.rand(()), torch.rand(()) * 3
    x = torch.rand(20, 1) * 6 - 3
    return x, amplitude * torch.sin(x + phase)


torch.manual_seed(0)
params = init()
meta = torch.optim.Adam(params, lr=2e-3)
average = None
for it in range(150):
    outer = 0.0
    for _ in range(3):
        x, y = task()
        inner = F.mse_loss(forward(params, x[:5]), y[:5])
        grads = torch.autograd.grad(inner, params, create_graph=True)
        adapted = [p - 0.02 * g for p, g in zip(params, grads)]
        outer = outer + F.mse_loss(forward(adapted, x[5:]), y[5:])
    outer = outer / 3
    meta.zero_grad()
    outer.backward()
    meta.step()
    average = outer.item() if average is None else 0.95 * average + 0.05 * outer.item()
    if it % 30 == 29:
        print(it + 1, round(average, 4))
