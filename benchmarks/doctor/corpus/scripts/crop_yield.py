import torch
from torch import nn

torch.manual_seed(91)
epochs, batch = 10, 40


def fields(n):
    soil = torch.randn(n, 7)
    harvest = torch.tanh(soil[:, :2].sum(1)) + 0.4 * soil[:, 3] * soil[:, 4]
    return soil, harvest + 0.1 * torch.randn(n)


train_x, train_y = fields(480)
val_x, val_y = fields(120)

net = nn.Sequential(nn.Linear(7, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
huber = nn.HuberLoss()

order = torch.randperm(len(train_x))
for epoch in range(epochs):
    total = 0.0
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        optimizer.zero_grad()
        loss = huber(net(train_x[rows]), train_y[rows])
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        val = huber(net(val_x), val_y).item()
    print(f"epoch {epoch + 1:2d}/{epochs}  train {total * batch / len(order):.4f}  val {val:.4f}")
