import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(70)
rng = np.random.default_rng(70)


def tiles(n, size=12):
    y = torch.randint(0, 4, (n,))
    g = torch.arange(size).float()
    rows, cols = g.view(1, size, 1), g.view(1, 1, size)
    phase = (torch.rand(n, 1, 1) * 6.28)
    kinds = [torch.sin(1.6 * rows + phase + 0 * cols), torch.sin(1.6 * cols + phase + 0 * rows),
             torch.sin(1.1 * (rows + cols) + phase), torch.sin(1.1 * (rows - cols) + phase)]
    x = torch.stack(kinds, 1)[torch.arange(n), y]
    return (x + 0.7 * torch.randn(n, size, size)).unsqueeze(1), y


def cutmix(x, y, classes=4):
    lam = rng.beta(1.0, 1.0)
    side = int(x.shape[-1] * np.sqrt(1 - lam))
    top, left = rng.integers(0, x.shape[-1] - side + 1, 2)
    other = torch.randperm(len(x))
    x = x.clone()
    x[:, :, top:top + side, left:left + side] = x[other][:, :, top:top + side, left:left + side]
    share = side**2 / x.shape[-1] ** 2
    hot = torch.eye(classes)
    return x, (1 - share) * hot[y] + share * hot[y[other]]


net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(16, 24, 3), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                    nn.Flatten(), nn.Linear(24, 4))
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
x, y = tiles(640)
xt, yt = tiles(200)
for epoch in range(6):
    net.train()
    total = 0.0
    for idx in torch.randperm(640).split(64):
        xb, soft = cutmix(x[idx], y[idx]) if rng.random() < 0.5 else (x[idx], y[idx])
        loss = criterion(net(xb), soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 10
    net.eval()
    with torch.no_grad():
        acc = (net(xt).argmax(1) == yt).float().mean()
    print(f"epoch {epoch}: loss {total:.3f} test accuracy {acc:.3f}")
