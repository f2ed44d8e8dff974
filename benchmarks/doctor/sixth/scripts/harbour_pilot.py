"""Steering angle and speed from a simulated sensor: one trunk, two heads."""
import torch
from torch import nn


class Pilot(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 32), nn.Tanh())
        self.angle = nn.Linear(32, 1)
        self.speed = nn.Linear(32, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.angle(h), self.speed(h)


def sensor(n):
    x = torch.randn(n, 10)
    return x, torch.tanh(x[:, :1] - x[:, 1:2]), (x[:, 2:3] * x[:, 3:4])


def main():
    torch.manual_seed(11)
    model = Pilot()
    angle_opt = torch.optim.SGD([*model.trunk.parameters(), *model.angle.parameters()], lr=0.05, momentum=0.9)
    speed_opt = torch.optim.SGD([*model.trunk.parameters(), *model.speed.parameters()], lr=0.05, momentum=0.9)
    mse = nn.MSELoss()
    for step in range(700):
        x, angle, speed = sensor(48)
        a, s = model(x)
        loss = mse(a, angle) + mse(s, speed)
        angle_opt.zero_grad()
        speed_opt.zero_grad()
        loss.backward()
        angle_opt.step()
        speed_opt.step()
        if step % 100 == 0:
            print(f"{step:4d} {loss.item():.4f}")


main()
