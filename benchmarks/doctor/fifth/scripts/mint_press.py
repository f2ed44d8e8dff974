import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Coins(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(n, 8)).astype(np.float32)
        score = self.x[:, 0] * self.x[:, 1] + self.x[:, 2]
        self.y = np.where(score > 0, 1.0, -1.0).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), torch.tensor(self.y[i])


def accuracy(model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (torch.sign(model(x).squeeze(1)) == y).sum().item()
            total += len(y)
    return hits / total


torch.manual_seed(0)
train_loader = DataLoader(Coins(1000, 1), batch_size=50, shuffle=True)
test_loader = DataLoader(Coins(300, 2), batch_size=100)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(8):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f} accuracy {accuracy(model, test_loader):.3f}")
