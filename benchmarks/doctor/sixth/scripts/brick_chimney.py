import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(4)
torch.manual_seed(4)

# height in mm, age in days, share of clay, share of sand
height = rng.uniform(8_000, 60_000, 600)
age = rng.uniform(100, 40_000, 600)
clay, sand = rng.random(600), rng.random(600)
draught = (height - 34_000) / 15_000 - (age - 20_000) / 12_000 + 0.5 * clay
X = torch.tensor(np.stack([height, age, clay, sand], 1), dtype=torch.float32)
Y = torch.tensor(draught[:, None], dtype=torch.float32)

model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(20):
    for rows in torch.randperm(500).split(25):
        loss = nn.functional.mse_loss(model(X[rows]), Y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        held = nn.functional.mse_loss(model(X[500:]), Y[500:]).item()
    print(f"epoch {epoch} {loss.item():.4f} held out {held:.4f}")
