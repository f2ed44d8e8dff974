import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(5)
torch.manual_seed(5)


def plants(n):
    rare = rng.random(n) < 0.08
    x = rng.normal(size=(n, 8)) + 1.1 * rare[:, None] * (np.arange(8) < 4)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(rare, dtype=torch.float32)


(x, y), (x_val, y_val), (x_test, y_test) = plants(1200), plants(400), plants(400)
model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 1), nn.Flatten(0))
criterion = nn.BCEWithLogitsLoss(pos_weight=(1 - y).sum() / y.sum())
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def f1(scores, truth, threshold):
    said = scores > threshold
    hit = (said & (truth > 0)).sum().item()
    return 2 * hit / max(1, said.sum().item() + int(truth.sum().item()))


for epoch in range(8):
    total = 0.0
    for rows in torch.randperm(1200).split(40):
        optimizer.zero_grad()
        loss = criterion(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        total += loss.item() / 30
    print(f"epoch {epoch} loss {total:.4f}")
with torch.no_grad():
    scores_val, scores_test = model(x_val), model(x_test)
best = max(np.linspace(-2, 3, 26), key=lambda t: f1(scores_val, y_val, t))
print(f"threshold {best:.2f} test f1 {f1(scores_test, y_test, best):.3f}")
