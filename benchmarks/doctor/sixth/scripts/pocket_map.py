import torch
from torch import nn


class MapReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(2, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(3))
        self.fc = nn.Linear(72, 5)
        self.activation = nn.LogSoftmax(dim=0)

    def forward(self, x):
        return self.activation(self.fc(self.conv(x).flatten(1)))


def maps(n):
    y = torch.randint(0, 5, (n,))
    x = 0.5 * torch.randn(n, 2, 9, 9)
    for i, c in enumerate(y.tolist()):
        x[i, c % 2, c : c + 4, 2:7] += 1.0
    return x, y


torch.manual_seed(6)
model = MapReader()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.NLLLoss()
x, y = maps(480)
x_test, y_test = maps(120)
for epoch in range(6):
    for rows in torch.randperm(480).split(24):
        optimizer.zero_grad()
        loss = criterion(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(x_test).argmax(1) == y_test).float().mean().item())
