"""Regress faint heat maps under float16 autocast."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(261)


class HeatMap(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(256, 64)
        self.mid = nn.Linear(64, 64)
        self.out = nn.Linear(64, 1024)
        nn.init.normal_(self.out.weight, std=1e-3)
        nn.init.zeros_(self.out.bias)

    def forward(self, x):
        h = F.gelu(self.inp(x))
        h = F.gelu(self.mid(h))
        return self.out(h)


mix = torch.randn(256, 1024) / 16


def maps(n=16):
    x = torch.randn(n, 256)
    return x, 1e-3 * torch.tanh(x @ mix)


model = HeatMap()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(60):
    x, y = maps()
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        pred = model(x)
        loss = F.mse_loss(pred, y)
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(step, f"{loss.item():.3e}")
