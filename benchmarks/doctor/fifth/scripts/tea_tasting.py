import torch
from sklearn.datasets import load_iris
from torch import nn

torch.manual_seed(5)
iris = load_iris()
x = torch.tensor(iris.data, dtype=torch.float32)
y = torch.tensor(iris.target)
x = (x - x.mean(0)) / x.std(0)


def batches(x, y, size):
    x = x[torch.randperm(len(x))]
    y = y[torch.randperm(len(y))]
    for start in range(0, len(x), size):
        yield x[start : start + size], y[start : start + size]


class TeaNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 24)
        self.b = nn.Linear(24, 3)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


net = TeaNet()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
for epoch in range(40):
    total = 0.0
    for xb, yb in batches(x, y, 15):
        loss = criterion(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 8 == 7:
        with torch.no_grad():
            acc = (net(x).argmax(1) == y).float().mean().item()
        print(f"epoch {epoch + 1}: loss {total / 10:.3f} accuracy {acc:.3f}")
