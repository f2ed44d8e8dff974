import torch
from torch import nn
from torch.func import functional_call, grad_and_value

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
params = {name: p.detach().clone() for name, p in net.named_parameters()}


def loss_fn(params, x, y):
    return (functional_call(net, params, (x,)) - y).square().mean()


step_fn = grad_and_value(loss_fn)


def update(params, grads, velocity, lr=0.05, mu=0.9):
    velocity = {k: mu * velocity[k] + grads[k] for k in params}
    return {k: params[k] - lr * velocity[k] for k in params}, velocity


velocity = {k: torch.zeros_like(p) for k, p in params.items()}
for i in range(300):
    x = torch.randn(32, 4)
    y = x[:, :1] * x[:, 1:2] + x[:, 2:3]
    grads, loss = step_fn(params, x, y)
    params, velocity = update(params, grads, velocity)
    if i % 60 == 0:
        print(i, loss.item())
