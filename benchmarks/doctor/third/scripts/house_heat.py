"""Forecast heating demand from its own past and the weather."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(172)
n, lags = 900, 6
weather = np.sin(np.arange(n) / 20) + 0.3 * rng.normal(size=n)
demand = np.zeros(n)
for t in range(1, n):
    demand[t] = 0.7 * demand[t - 1] - 0.8 * weather[t] + 0.1 * rng.normal()
split = 700
demand = (demand - demand[:split].mean()) / demand[:split].std()

past = np.stack([demand[lags - k - 1:n - k - 1] for k in range(lags)], axis=1)
features = np.concatenate([past, weather[lags:, None]], axis=1)
x = torch.tensor(features, dtype=torch.float32)
y = torch.tensor(demand[lags:, None], dtype=torch.float32)

loader = DataLoader(TensorDataset(x[:split], y[:split]), batch_size=35, shuffle=True)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(lags + 1, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    model.train()
    for xb, yb in loader:
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(x[split:]), y[split:]).item()
    print(f"epoch {epoch} val {val:.4f}")
