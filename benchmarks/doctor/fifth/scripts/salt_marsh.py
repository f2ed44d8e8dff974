import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(0)
torch.manual_seed(0)


def marsh(n):
    x = rng.normal(size=(n, 1, 12, 12))
    kind = rng.integers(0, 2, n)
    x[kind == 1, :, 3:9, 3:9] += 0.6
    return x, kind


x_train, y_train = marsh(600)
x_test, y_test = marsh(200)
train_set = TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
test_x, test_y = torch.from_numpy(x_test), torch.from_numpy(y_test)
loader = DataLoader(train_set, batch_size=30, shuffle=True)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2)
)
model = model.to(test_x.dtype)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.4f} acc {acc:.3f}")
