"""Predict the 10 %, 50 % and 90 % quantiles at once."""
import torch
from torch import nn

QUANTILES = torch.tensor([0.1, 0.5, 0.9])


def pinball(pred, target):
    error = target - pred  # (N, 1) - (N, 3)
    return torch.maximum(QUANTILES * error, (QUANTILES - 1) * error).mean()


def travel(n):
    x = torch.rand(n, 1) * 3.4 - 1.7
    noise = torch.randn(n, 1) * (0.15 + 0.25 * (x > 0))
    return x, torch.sin(2 * x) + noise


class Band(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 3))

    def forward(self, x):
        return self.net(x)


torch.manual_seed(165)
band = Band()
opt = torch.optim.Adam(band.parameters(), lr=5e-3)
for step in range(300):
    x, y = travel(128)
    loss = pinball(band(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(f"step {step:3d} pinball {loss.item():.4f}")
x, y = travel(2000)
with torch.no_grad():
    q = band(x)
print("inside the band", ((y > q[:, :1]) & (y < q[:, 2:])).float().mean().item())
