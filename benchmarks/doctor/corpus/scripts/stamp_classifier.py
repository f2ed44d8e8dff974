"""Patch classifier with per-epoch reporting."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 92


def dataset(n):
    stamps = torch.randn(5, 49, generator=torch.Generator().manual_seed(3))
    y = torch.randint(0, 5, (n,))
    return (stamps[y] + 1.5 * torch.randn(n, 49)) / 1.8, y


def train_epoch(model, loader, optimizer, criterion):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def evaluate(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(SEED)
x, y = dataset(500)
x_test, y_test = dataset(200)
model = nn.Sequential(nn.Linear(49, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(TensorDataset(x, y), batch_size=25, shuffle=True)
for epoch in range(6):
    torch.manual_seed(SEED)
    loss = train_epoch(model, loader, optimizer, criterion)
    print(f"epoch {epoch}: loss {loss:.3f}, test accuracy {evaluate(model, x_test, y_test):.3f}")
