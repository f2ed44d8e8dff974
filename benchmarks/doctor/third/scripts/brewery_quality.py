"""Predict beer quality from process readings; validate on another plant."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def readings(n, shift):
    x = torch.randn(n, 6) * torch.tensor([2.0, 9.0, 0.5, 30.0, 4.0, 1.0]) + torch.tensor(
        [18.0, 65.0, 4.3, 400.0, 12.0, 5.0]) + shift
    y = 0.3 * (x[:, 0] - 18) - 0.05 * (x[:, 1] - 65) + 0.4 * (x[:, 2] - 4.3) * (x[:, 5] - 5)
    return x, y.unsqueeze(1) + 0.1 * torch.randn(n, 1)


def standardise(x):
    return (x - x.mean(0)) / x.std(0)


torch.manual_seed(31)
x_train, y_train = readings(800, 0.0)
x_val, y_val = readings(200, torch.tensor([3.0, 8.0, 0.3, 0.0, 0.0, 0.5]))
x_train = standardise(x_train)
x_val = standardise(x_val)

loader = DataLoader(TensorDataset(x_train, y_train), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.MSELoss()

for epoch in range(8):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        val = loss_fn(model(x_val), y_val).item()
    print(f"epoch {epoch} train {total / len(loader):.4f} val {val:.4f}")
