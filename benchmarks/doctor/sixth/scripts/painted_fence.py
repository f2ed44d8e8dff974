import torch
from torch import nn


def backbone():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()
    )


class Painted(nn.Module):
    def __init__(self, body, classes):
        super().__init__()
        self.backbone = body
        self.classifier = nn.Linear(32, classes)

    def forward(self, x):
        return self.classifier(self.backbone(x))


def pictures(n, classes, shift=0.0):
    y = torch.randint(0, classes, (n,))
    x = 0.5 * torch.randn(n, 3, 8, 8) + shift
    for i, c in enumerate(y.tolist()):
        x[i, c % 3, : 4 + 4 * (c // 3)] += 1
    return x, y


def epoch(model, data, optimizer):
    model.train()
    x, y = data
    total = 0
    for rows in torch.randperm(len(x)).split(32):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    return total / len(x)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(30)
source = Painted(backbone(), 3)
adam = torch.optim.Adam(source.parameters(), lr=5e-3)
data = pictures(320, 3)
for i in range(4):
    print("source", i, epoch(source, data, adam))
source_held = pictures(120, 3)
print("source accuracy", accuracy(source, *source_held))

tuned = Painted(source.backbone, 6)
for p in tuned.backbone.parameters():
    p.requires_grad_(False)
adam = torch.optim.Adam(tuned.classifier.parameters(), lr=5e-3)
data, held = pictures(320, 6, 2.0), pictures(120, 6, 2.0)
for i in range(8):
    print("target", i, epoch(tuned, data, adam))
print("target accuracy", accuracy(tuned, *held))
print("source accuracy", accuracy(source, *source_held))
