import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
BATCH = 50


def silo(n):
    x = torch.randn(n, 6)
    y = torch.sin(x[:, 0]) + x[:, 1] * x[:, 2] * 0.5 - x[:, 3]
    return x, y.unsqueeze(1)


train = DataLoader(TensorDataset(*silo(1500)), batch_size=BATCH, shuffle=True)
x_test, y_test = silo(300)
model = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 1))
criterion = nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05 / BATCH, momentum=0.9)

for epoch in range(10):
    model.train()
    total = 0.0
    for x, y in train:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        test = criterion(model(x_test), y_test).item() / len(x_test)
    print(f"epoch {epoch}: train {total / 1500:.4f} test {test:.4f}")
