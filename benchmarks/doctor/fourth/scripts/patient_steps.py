import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

ACCUMULATE = 8


def data():
    torch.manual_seed(0)
    x = torch.randn(1920, 16)
    y = (x @ torch.randn(16, 5)).argmax(1)
    return TensorDataset(x, y)


loader = DataLoader(data(), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 5))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(5):
    optimizer.zero_grad()
    running = 0.0
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        loss.backward()
        running += loss.item()
        if (i + 1) % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: {running / len(loader):.4f}")
