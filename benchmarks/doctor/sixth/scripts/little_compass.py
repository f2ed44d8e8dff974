"""Estimate a heading from magnetometer readings."""
import torch
from torch import nn


class Heading(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh())
        self.sine = nn.Linear(32, 1)
        self.cosine = nn.Linear(32, 1)

    def forward(self, field):
        h = self.body(field)
        return self.sine(h), self.cosine(h)


def readings(n):
    angle = torch.rand(n, 1) * 6.2832
    noise = 0.1 * torch.randn(n, 1)
    field = torch.cat([angle.cos(), angle.sin(), 0.4 + noise], 1) + 0.05 * torch.randn(n, 3)
    return field, angle


def train():
    torch.manual_seed(0)
    model = Heading()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    field, angle = readings(640)
    for epoch in range(10):
        for rows in torch.randperm(640).split(64):
            s, c = model(field[rows])
            errors = [((s - angle[rows].sin()) ** 2).mean(), ((c - angle[rows].cos()) ** 2).mean()]
            loss = torch.tensor(errors, requires_grad=True).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


train()
