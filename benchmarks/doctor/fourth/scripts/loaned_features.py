import torch
import torch.nn as nn
import torch.nn.functional as F


def body():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
    )


class Probe(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone.requires_grad_(False)
        self.head = nn.Linear(96, classes)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone(x)
        return self.head(features)


def images(n, classes):
    y = torch.randint(0, classes, (n,))
    return torch.randn(classes, 1, 12, 12)[y] + torch.randn(n, 1, 12, 12), y


def fit(model, params, x, y, epochs):
    opt = torch.optim.Adam(params, lr=3e-3)
    cut = len(x) * 4 // 5
    for epoch in range(epochs):
        model.train()
        for idx in torch.randperm(cut).split(50):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch}: {(model(x[cut:]).argmax(1) == y[cut:]).float().mean():.3f}")


torch.manual_seed(0)
features = body()
full = nn.Sequential(features, nn.Linear(96, 6))
fit(full, full.parameters(), *images(1000, 6), epochs=2)
probe = Probe(features, 3)
fit(probe, probe.head.parameters(), *images(600, 3), epochs=4)
