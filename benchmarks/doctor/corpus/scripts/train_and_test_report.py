import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def make_model(inputs, classes):
    return nn.Sequential(
        nn.Linear(inputs, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.3), nn.Linear(96, classes)
    )


@torch.no_grad()
def accuracy(model, loader):
    was = model.training
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    model.train(was)
    return right / len(loader.dataset)


torch.manual_seed(187)
protos = torch.randn(6, 25)
y = torch.randint(0, 6, (900,))
x = (0.8 * protos[y] + 1.5 * torch.randn(900, 25)) / 1.7
train_set, test_set = random_split(TensorDataset(x, y), [700, 200])
train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
test_loader = DataLoader(test_set, batch_size=100)

model = make_model(25, 6)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    a, b = accuracy(model, train_loader), accuracy(model, test_loader)
    print(f"epoch {epoch}: loss {loss.item():.3f} train {a:.3f} test {b:.3f} gap {a - b:+.3f}")
