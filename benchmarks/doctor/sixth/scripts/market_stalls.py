"""Predict tomorrow's sales of a stall from a table."""
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(0)
n = 1000
table = {
    "weekday": rng.integers(0, 7, n) / 6.0,
    "rain": rng.random(n),
    "price": rng.normal(0, 1, n),
    "neighbours": rng.normal(0, 1, n),
}
table["sold"] = 1.5 * table["weekday"] - table["rain"] * table["price"] + 0.7 * rng.normal(0, 1, n)

columns = [c for c in table if c != "date"]
features = np.stack([table[c] for c in columns], axis=1).astype(np.float32)
target = table["sold"].astype(np.float32)[:, None]

torch.manual_seed(0)
x, y = torch.from_numpy(features), torch.from_numpy(target)
x_train, y_train, x_test, y_test = x[:800], y[:800], x[800:], y[800:]

model = nn.Sequential(nn.Linear(x.shape[1], 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.MSELoss()
for epoch in range(12):
    for rows in torch.randperm(800).split(40):
        optimizer.zero_grad()
        loss = loss_fn(model(x_train[rows]), y_train[rows])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(f"epoch {epoch} train {loss.item():.5f} test {loss_fn(model(x_test), y_test).item():.5f}")
