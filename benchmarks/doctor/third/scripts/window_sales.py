"""Sales forecast from sliding windows."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

rng = np.random.default_rng(2)
steps = rng.normal(size=700)
series = np.cumsum(steps) * 0.1
series = (series - series[:500].mean()) / series[:500].std()
window, horizon = 30, 5

xs, ys = [], []
for i in range(len(series) - window - horizon):
    xs.append(series[i:i + window])
    ys.append(series[i + window:i + window + horizon])
x = torch.tensor(np.array(xs), dtype=torch.float32)
y = torch.tensor(np.array(ys), dtype=torch.float32)

torch.manual_seed(0)
dataset = TensorDataset(x, y)
train_set, val_set = random_split(dataset, [len(dataset) - 130, 130])
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=65)

model = nn.Sequential(nn.Linear(window, 64), nn.ReLU(), nn.Linear(64, horizon))
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
        val = sum(nn.functional.mse_loss(model(a), b).item() for a, b in val_loader) / len(val_loader)
    print(epoch, f"val mse {val:.4f}")
