"""Which fuses fail within the year?"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class FuseNet(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 32), nn.Tanh(), nn.Dropout(0.1), nn.Linear(32, 16), nn.Tanh())
        self.logit = nn.Linear(16, 1)

    def forward(self, x):
        return self.logit(self.body(x)).squeeze(1)


def fuses(n):
    x = torch.randn(n, 9)
    risk = 1.5 * x[:, 0] - x[:, 1] * x[:, 2] + 0.8 * x[:, 3]
    return TensorDataset(x, (torch.rand(n) < torch.sigmoid(2 * risk)).float())


torch.manual_seed(2134)
train_set, test_set = random_split(fuses(1200), [960, 240])
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
test_loader = DataLoader(test_set, batch_size=240)
model = FuseNet(9)
criterion = nn.BCEWithLogitsLoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
for epoch in range(8):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        hits = sum(((model(x) > 0) == (y > 0.5)).sum().item() for x, y in test_loader)
    print(f"epoch {epoch}: loss {total / len(train_set):.4f} accuracy {hits / len(test_set):.3f}")
