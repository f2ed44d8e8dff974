"""Classify stars into the five types of the catalogue."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

rng = np.random.default_rng(142)


class Catalogue(Dataset):
    def __init__(self, n):
        self.kind = rng.integers(1, 6, size=n)
        centre = np.stack([np.cos(self.kind * 1.3), np.sin(self.kind * 1.3), self.kind / 3 - 1], axis=1)
        self.x = (centre + 0.25 * rng.normal(size=(n, 3))).astype(np.float32)

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), int(self.kind[i])


torch.manual_seed(0)
num_classes = 5
train = DataLoader(Catalogue(800), batch_size=40, shuffle=True)
test = DataLoader(Catalogue(200), batch_size=100)
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, num_classes))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    model.train()
    for x, y in train:
        y = y.clamp(0, num_classes - 1)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = sum((model(x).argmax(1) == y).sum().item() for x, y in test) / 200
    print(epoch, f"loss {loss.item():.3f} acc {acc:.3f}")
