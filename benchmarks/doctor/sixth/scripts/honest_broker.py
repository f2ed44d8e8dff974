import torch
from torch import nn


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 48), nn.SiLU(), nn.Linear(48, 24), nn.SiLU())
        self.price = nn.Linear(24, 1)
        self.risk = nn.Linear(24, 3)
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.body(x)
        return self.price(h), self.risk(h)

    def loss(self, x, price, risk):
        p, r = self(x)
        terms = torch.stack([nn.functional.mse_loss(p, price), nn.functional.cross_entropy(r, risk)])
        return (torch.exp(-self.log_var) * terms + self.log_var / 2).sum(), terms


def deals(n):
    x = torch.randn(n, 6)
    return x, x[:, :1] - x[:, 1:2] * x[:, 2:3], x[:, 3:].argmax(1)


torch.manual_seed(0)
model = MultiTask()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(1000):
    loss, terms = model.loss(*deals(40))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 200 == 0:
        print(step, loss.item(), [round(t, 4) for t in terms.tolist()])
