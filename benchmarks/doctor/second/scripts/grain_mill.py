import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(2131)


def grain(n):
    kind = rng.integers(0, 4, n)
    base = np.array([[1.0, 0, 0, 1, 0, -1], [0, 1, 1, 0, -1, 0], [-1, 0, 1, 0, 0, 1], [0, -1, 0, -1, 1, 0]])
    x = 1.5 * base[kind] + 0.7 * rng.standard_normal((n, 6))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(kind)


train_x, train_y = grain(1000)
test_x, test_y = grain(300)
mean, std = train_x.mean(0), train_x.std(0)
train_x, test_x = (train_x - mean) / std, (test_x - mean) / std


def get_batch(size=50):
    x = train_x[rng.integers(0, len(train_x), size)]
    y = train_y[rng.integers(0, len(train_y), size)]
    return x, y


torch.manual_seed(2131)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()
history = []
for step in range(1, 241):
    x, y = get_batch()
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
    if step % 40 == 0:
        print(f"step {step}: {np.mean(history[-40:]):.4f}")

with torch.no_grad():
    print("test accuracy", (model(test_x).argmax(1) == test_y).float().mean().item())
