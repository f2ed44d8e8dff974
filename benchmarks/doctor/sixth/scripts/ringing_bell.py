import torch
from torch import nn

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, t):
        return self.net(t)


def derivative(y, t):
    return torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]


model = Field()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
zero = torch.zeros(1, 1, requires_grad=True)
for step in range(500):
    t = (torch.rand(40, 1) * 3).requires_grad_()
    u = model(t)
    velocity = derivative(u, t)
    residual = derivative(velocity, t) + 0.4 * velocity + 2 * u
    u0 = model(zero)
    start = (u0 - 1).pow(2).mean() + derivative(u0, zero).pow(2).mean()
    loss = residual.pow(2).mean() + 5 * start
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
