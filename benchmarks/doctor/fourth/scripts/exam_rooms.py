import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def exams(n):
    x = torch.randn(n, 16)
    teacher = torch.randn(16, 3, generator=torch.Generator().manual_seed(4))
    y = (x @ teacher + 2.0 * torch.randn(n, 3)).argmax(1)
    return TensorDataset(x, y)


train_set, test_set = exams(600), exams(300)
train_loader = DataLoader(train_set, batch_size=30, shuffle=True)
test_loader = DataLoader(train_set, batch_size=100)

model = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def test():
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for x, y in test_loader:
            correct += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return correct / total


for epoch in range(10):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    print(f"epoch {epoch}: test accuracy {test():.3f}")
