import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


def spirals(n):
    y = torch.randint(0, 3, (n,))
    r = torch.rand(n)
    a = 4 * r + 2.09 * y + 0.15 * torch.randn(n)
    return 1.7 * torch.stack([r * a.cos(), r * a.sin()], 1), y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(2, 64), nn.Linear(64, 64), nn.Linear(64, 3)

    def forward(self, x):
        return self.c(F.gelu(self.b(F.gelu(self.a(x)))))


def loss_of(params, x, y):
    return F.cross_entropy(functional_call(net, params, (x,)), y)


torch.manual_seed(112)
net = Net()
params = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}
velocity = {k: torch.zeros_like(v) for k, v in params.items()}
for step in range(400):
    x, y = spirals(64)
    loss = loss_of(params, x, y)
    grads = torch.autograd.grad(loss, list(params.values()))
    for (k, p), g in zip(params.items(), grads):
        velocity[k] = 0.9 * velocity[k] + g
        params[k] = (p - 0.05 * velocity[k]).detach().requires_grad_()
    if step % 100 == 0:
        print(f"step {step} loss {loss.item():.3f}")
x, y = spirals(300)
with torch.no_grad():
    print("accuracy", (functional_call(net, params, (x,)).argmax(1) == y).float().mean().item())
