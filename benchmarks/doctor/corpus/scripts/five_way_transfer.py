import torch
import torch.nn as nn

torch.manual_seed(23)


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.head = nn.Linear(48, classes)

    def forward(self, x):
        return self.head(self.trunk(x))


protos = torch.randn(8, 16)


def task(n, classes):
    y = torch.randint(0, classes, (n,))
    return protos[y] + 0.9 * torch.randn(n, 16), y


model = Classifier(classes=3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loss_fn = nn.CrossEntropyLoss()


def run(steps, classes):
    for step in range(steps):
        x, y = task(32, classes)
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
    x, y = task(400, classes)
    with torch.no_grad():
        acc = (model(x).argmax(1) == y).float().mean().item()
    print(f"{classes} classes: last loss {loss.item():.3f}, accuracy {acc:.2f}")


run(100, 3)
# now the same trunk with all eight classes
model.head = nn.Linear(48, 8)
run(150, 8)
