import copy
import math

import torch
from torch import nn


class Averaged:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = copy.deepcopy(model).eval()
        for p in self.shadow.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.mul_(self.decay).add_(p, alpha=1 - self.decay)


def water_level(n):
    t = torch.rand(n, 1) * 4 - 2
    return t, torch.sin(3 * t) * torch.exp(-t.abs() / 2)


def main(steps=400, decay=0.99995, lr=3e-3):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
    average = Averaged(model, decay)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for step in range(steps):
        t, level = water_level(64)
        loss = nn.functional.mse_loss(model(t), level)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model)
        if (step + 1) % 100 == 0:
            with torch.no_grad():
                t, level = water_level(256)
                held = nn.functional.mse_loss(average.shadow(t), level).item()
            print(f"{step + 1}: loss {loss.item():.5f}  averaged {held:.5f}  rmse {math.sqrt(held):.4f}")


main()
