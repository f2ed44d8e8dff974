import torch
import torch.nn as nn
import torch.nn.functional as F


def backbone():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
    )


class Classifier(nn.Module):
    def __init__(self, body, classes):
        super().__init__()
        self.backbone = body
        self.head = nn.Linear(96, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def images(n, classes, offset):
    y = torch.randint(0, classes, (n,))
    return torch.randn(classes, 1, 12, 12)[y] + offset + torch.randn(n, 1, 12, 12), y


def fit(model, params, x, y, epochs):
    opt = torch.optim.Adam(params, lr=2e-3)
    for epoch in range(epochs):
        model.train()
        for idx in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch}: {(model(x).argmax(1) == y).float().mean():.3f}")


torch.manual_seed(0)
source = Classifier(backbone(), 6)
fit(source, source.parameters(), *images(1000, 6, 0.0), epochs=2)

body = source.backbone
for p in body.parameters():
    p.requires_grad = False
target = Classifier(body, 3)
before = body[1].running_mean.clone()
fit(target, target.head.parameters(), *images(600, 3, 2.0), epochs=3)
