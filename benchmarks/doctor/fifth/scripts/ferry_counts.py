import math

import torch
from torch import nn

torch.manual_seed(56)


class Ferry(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, x):
        return self.layers(x).squeeze(1)


def days(n):
    hour = torch.rand(n) * 24
    warm = torch.randn(n)
    rate = torch.exp(1.0 + 0.8 * torch.sin(hour * 2 * math.pi / 24) + 0.4 * warm)
    x = torch.stack([(hour * math.pi / 12).sin(), (hour * math.pi / 12).cos(), warm, warm**2 - 1], dim=1)
    return x, torch.poisson(rate), rate


x, count, _ = days(1500)
xv, _, rate_v = days(400)
model = Ferry()
criterion = nn.PoissonNLLLoss(log_input=True)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(8):
    model.train()
    for idx in torch.randperm(len(x)).split(50):
        loss = criterion(model(x[idx]), count[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        error = (model(xv) - rate_v.log()).abs().mean()
    print(f"epoch {epoch}: loss {loss.item():.3f} mean error of log rate {error:.3f}")
