import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

QUANTILES = torch.tensor([0.1, 0.5, 0.9])


def pinball(prediction, target):
    difference = target.unsqueeze(1) - prediction
    return torch.maximum(QUANTILES * difference, (QUANTILES - 1) * difference).mean()


torch.manual_seed(0)
x = torch.rand(2400, 1) * 4 - 2
y = torch.sin(2 * x[:, 0]) + (0.1 + 0.2 * x[:, 0].abs()) * torch.randn(2400)
train = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(1, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    for xb, yb in train:
        optimizer.zero_grad()
        loss = pinball(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(x[2000:])
        inside = ((y[2000:] > out[:, 0]) & (y[2000:] < out[:, 2])).float().mean()
    print(f"epoch {epoch}: {loss.item():.4f} inside {inside:.3f}")
