import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(1001, 6)
y = x[:, :1] + 0.5 * x[:, 1:2] ** 2 + 0.1 * torch.randn(1001, 1)
train = DataLoader(TensorDataset(x[:801], y[:801]), batch_size=32, shuffle=True, drop_last=True)
test = DataLoader(TensorDataset(x[801:], y[801:]), batch_size=1)
model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    for xb, yb in train:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    error = 0.0
    with torch.no_grad():
        for xb, yb in test:
            error += nn.functional.mse_loss(model(xb), yb, reduction="sum").item()
    print(f"epoch {epoch} test mse {error / 200:.4f}")
worst = None
with torch.no_grad():
    for xb, yb in test:
        gap = (model(xb) - yb).abs().item()
        worst = gap if worst is None else max(worst, gap)
print(f"worst gap {worst:.3f}")
