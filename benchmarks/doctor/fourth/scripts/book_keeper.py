import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(0)
torch.manual_seed(0)


def ledger(n):
    x = rng.normal(size=(n, 12))
    w = np.linspace(-1, 1, 12)
    y = x @ w + 0.1 * rng.normal(size=n)
    return x, y[:, None]


x_np, y_np = ledger(3000)
x = torch.from_numpy(x_np)
y = torch.from_numpy(y_np)

model = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
model = model.double()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    total = 0.0
    for idx in torch.randperm(len(x)).split(60):
        out = model(x[idx])
        loss = nn.functional.mse_loss(out, y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / 50:.5f}")
