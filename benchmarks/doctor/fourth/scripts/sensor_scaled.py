import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Standard(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.register_buffer("shift", rows.mean(0))
        self.register_buffer("scale", rows.std(0))

    def forward(self, x):
        return (x - self.shift) / self.scale


def plant(n):
    pressure = 101325 + 900 * torch.randn(n)
    flow = 52000 + 4000 * torch.randn(n)
    heat = 380 + 12 * torch.randn(n)
    fault = ((pressure - 101325) / 900 + (flow - 52000) / 4000 - (heat - 380) / 12 > 0).long()
    return torch.stack([pressure, flow, heat], dim=1), fault


torch.manual_seed(0)
x, y = plant(2400)
scale = Standard(x[:2000])
train = DataLoader(TensorDataset(scale(x[:2000]), y[:2000]), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for xb, yb in train:
        loss = nn.functional.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(scale(x[2000:])).argmax(1) == y[2000:]).float().mean()
    print(f"epoch {epoch}: {acc:.3f}")
