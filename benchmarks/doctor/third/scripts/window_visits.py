"""Visitor forecast from sliding windows, split by time."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(7)
t = np.arange(800)
series = 50 + 20 * np.sin(t / 7) + 5 * np.sin(t / 29) + rng.normal(size=800)
cut, window = 600, 28
mean, std = series[:cut].mean(), series[:cut].std()


def windows(part):
    part = (part - mean) / std
    x = np.lib.stride_tricks.sliding_window_view(part, window + 1)
    x = torch.tensor(x.copy(), dtype=torch.float32)
    return TensorDataset(x[:, :-1], x[:, -1:])


torch.manual_seed(0)
train_loader = DataLoader(windows(series[:cut]), batch_size=32, shuffle=True)
val_loader = DataLoader(windows(series[cut + window:]), batch_size=64)

model = nn.Sequential(nn.Linear(window, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        errors = [nn.functional.mse_loss(model(a), b, reduction="sum") for a, b in val_loader]
    val = torch.stack(errors).sum().item() / len(val_loader.dataset)
    print(epoch, f"val mse {val * std ** 2:.4f}")
