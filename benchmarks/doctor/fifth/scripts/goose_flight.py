import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(54)


def flights(n):
    x = torch.randn(n, 9)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long()
    return TensorDataset(x, y)


dataset = flights(801)
train_set, val_set = random_split(dataset, [641, 160])
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=32)

model = nn.Sequential(
    nn.Linear(9, 48),
    nn.BatchNorm1d(48),
    nn.ReLU(),
    nn.Linear(48, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(5):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in val_loader:
            hits += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.3f} val {hits / len(val_set):.3f}")
