"""Predict the rent of flats from a table."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(171)
columns = ["area", "rooms", "floor", "age", "distance", "rent"]
n = 900
area = rng.uniform(20, 140, n)
rooms = np.round(area / 28 + rng.normal(0, 0.5, n)).clip(1)
floor = rng.integers(0, 9, n)
age = rng.uniform(0, 100, n)
distance = rng.exponential(4, n)
rent = 9 * area + 40 * rooms - 1.5 * age - 25 * distance + rng.normal(0, 80, n)
table = np.stack([area, rooms, floor, age, distance, rent], axis=1).astype(np.float32)

split = 700
mean, std = table[:split].mean(0), table[:split].std(0)
table = (table - mean) / std
features = torch.from_numpy(table[:, : len(columns)])
target = torch.from_numpy(table[:, columns.index("rent")]).unsqueeze(1)

loader = DataLoader(TensorDataset(features[:split], target[:split]), batch_size=35, shuffle=True)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(features.shape[1], 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(features[split:]), target[split:]).item()
    print(f"epoch {epoch} val r2 {1 - val / target[split:].var().item():.4f}")
