"""Fit pump curves from measured arrays."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(321)
flow = rng.uniform(0, 1, size=(800, 1))
speed = rng.uniform(0.5, 1.5, size=(800, 1))
head = speed ** 2 - 0.6 * flow ** 2 + 0.02 * rng.normal(size=(800, 1))
inputs = np.concatenate([flow, speed], axis=1)
inputs = (inputs - inputs.mean(0)) / inputs.std(0)

x = torch.from_numpy(inputs)
y = torch.from_numpy(head)
loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(2, 64),
    nn.Tanh(),
    nn.Linear(64, 64),
    nn.Tanh(),
    nn.Linear(64, 1),
).double()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.5f}")
