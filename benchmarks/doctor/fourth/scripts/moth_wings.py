import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def wings(n):
    y = torch.randint(0, 5, (n,))
    stencils = torch.randn(5, 1, 10, 10, generator=torch.Generator().manual_seed(1))
    return TensorDataset(stencils[y] + 1.3 * torch.randn(n, 1, 10, 10), y)


train_loader = DataLoader(wings(1500), batch_size=50, shuffle=True)
test_loader = DataLoader(wings(400), batch_size=100)
model = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.4), nn.Linear(300, 5),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def evaluate():
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_loader:
            correct += (model(x).argmax(1) == y).sum().item()
    return correct / 400


model.train()
for epoch in range(4):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f} test {evaluate():.3f}")
