import torch
import torch.nn as nn


class Dense(nn.Module):
    """A fully connected layer written by hand."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_in, n_out) / n_in)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return x @ self.weight + self.bias


class WeatherNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = Dense(8, 40)
        self.hidden2 = Dense(40, 40)
        self.output = Dense(40, 3)

    def forward(self, x):
        x = torch.tanh(self.hidden(x))
        x = torch.tanh(self.hidden2(x))
        return self.output(x)


def days(n):
    x = torch.randn(n, 8)
    sunny = x[:, 0] - x[:, 1]
    rainy = x[:, 2] + x[:, 3] * x[:, 4]
    windy = x[:, 5] ** 2 - 1
    return x, torch.stack([sunny, rainy, windy], 1).argmax(1)


torch.manual_seed(2135)
x, y = days(1000)
tx, ty = days(300)
model = WeatherNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    order = torch.randperm(len(x))
    for idx in order.split(50):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (model(tx).argmax(1) == ty).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.4f} accuracy {acc:.3f}")
