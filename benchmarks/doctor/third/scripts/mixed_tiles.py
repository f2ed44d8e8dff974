"""Mixup with soft labels and label smoothing."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(349)
CLASSES = 5
protos = torch.randn(CLASSES, 3, 8, 8)


def tiles(n):
    y = torch.randint(0, CLASSES, (n,))
    return protos[y] + torch.randn(n, 3, 8, 8), y


def mixup(x, y, alpha=0.4):
    lam = torch.distributions.Beta(alpha, alpha).sample((len(x),))
    perm = torch.randperm(len(x))
    soft = F.one_hot(y, CLASSES).float()
    soft = lam[:, None] * soft + (1 - lam[:, None]) * soft[perm]
    lam = lam.view(-1, 1, 1, 1)
    return lam * x + (1 - lam) * x[perm], soft


model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.AvgPool2d(2),
    nn.Conv2d(16, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.Flatten(), nn.Linear(256, CLASSES))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
x_val, y_val = tiles(200)
for step in range(80):
    model.train()
    x, soft = mixup(*tiles(32))
    loss = criterion(model(x), soft)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        model.eval()
        with torch.no_grad():
            acc = (model(x_val).argmax(1) == y_val).float().mean().item()
        print(step, f"{loss.item():.4f} {acc:.3f}")
