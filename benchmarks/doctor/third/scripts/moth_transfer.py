"""Fine-tune a head on a frozen backbone."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(111)


def make_backbone():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())


def data(protos, n, noise):
    y = torch.randint(0, len(protos), (n,))
    return protos[y] + noise * torch.randn(n, 1, 12, 12), y


def fit(model, params, protos, steps, noise):
    optimizer = torch.optim.Adam(params, lr=2e-3)
    for step in range(steps):
        model.train()
        x, y = data(protos, 32, noise)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, f"{loss.item():.4f}")


backbone = make_backbone()
pretrained = nn.Sequential(backbone, nn.Linear(64, 6))
fit(pretrained, pretrained.parameters(), torch.randn(6, 1, 12, 12), 60, 0.5)

for p in backbone.parameters():
    p.requires_grad = False
model = nn.Sequential(backbone, nn.Linear(64, 3))
new_protos = 2.0 * torch.randn(3, 1, 12, 12) + 1.0
fit(model, model[1].parameters(), new_protos, 60, 0.8)
model.eval()
x, y = data(new_protos, 200, 0.8)
with torch.no_grad():
    print("accuracy", (model(x).argmax(1) == y).float().mean().item())
