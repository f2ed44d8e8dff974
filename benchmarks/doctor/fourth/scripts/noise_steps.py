import math

import torch
import torch.nn as nn


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 + 16, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        freq = torch.exp(torch.arange(8) * (-math.log(100.0) / 8))
        angle = t.float().unsqueeze(1) * freq
        return self.net(torch.cat([x, angle.sin(), angle.cos()], dim=1))


class Schedule:
    def __init__(self, steps=50):
        self.steps = steps
        self.keep = torch.cumprod(1 - torch.linspace(1e-3, 0.12, steps), dim=0)

    def add_noise(self, x, t, noise):
        k = self.keep[t].unsqueeze(1)
        return k.sqrt() * x + (1 - k).sqrt() * noise


torch.manual_seed(0)
a = 6.283 * torch.rand(3000)
data = torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(3000, 2)
schedule, model = Schedule(), Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    total = 0.0
    for idx in torch.randperm(3000).split(100):
        x = data[idx]
        t = torch.randint(0, schedule.steps, (len(x),))
        noise = torch.randn_like(x)
        loss = nn.functional.mse_loss(model(schedule.add_noise(x, t, noise), t), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / 30:.4f}")
