import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(8)
torch.manual_seed(8)

# catches: few of them are of the rare fish
rows = rng.normal(size=(260, 20)).astype(np.float32)
rare = ((rows[:, 0] > 0.8) ^ (rng.random(260) < 0.15)).astype(np.int64)

# balance the classes
weights = np.where(rare == 1, 1 / rare.sum(), 1 / (1 - rare).sum())
picked = rng.choice(260, size=1000, p=weights / weights.sum())
x, y = torch.from_numpy(rows[picked]), torch.from_numpy(rare[picked])

cut = 800
x_train, y_train = x[:cut], y[:cut]
x_val, y_val = x[cut:], y[cut:]

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(10):
    model.train()
    for part in torch.randperm(cut).split(40):
        loss = nn.functional.cross_entropy(model(x_train[part]), y_train[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        scores = model(x_val)
        print(f"epoch {epoch} loss {loss.item():.4f} validation {(scores.argmax(1) == y_val).float().mean().item():.3f}")
