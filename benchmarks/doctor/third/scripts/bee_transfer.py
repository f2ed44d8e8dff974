"""Fine-tune a head; the backbone stays as it is."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(112)


class Frozen(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone.requires_grad_(False)
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(64, classes))

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


def data(protos, n):
    y = torch.randint(0, len(protos), (n,))
    return protos[y] + 0.6 * torch.randn(n, 1, 12, 12), y


def fit(model, protos, steps=60):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    model.train()
    for step in range(steps):
        x, y = data(protos, 32)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, f"{loss.item():.4f}")


backbone = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
fit(nn.Sequential(backbone, nn.Linear(64, 6)), torch.randn(6, 1, 12, 12))
model = Frozen(backbone, 3)
protos = torch.randn(3, 1, 12, 12)
fit(model, protos)
model.eval()
x, y = data(protos, 200)
with torch.no_grad():
    print("accuracy", (model(x).argmax(1) == y).float().mean().item())
