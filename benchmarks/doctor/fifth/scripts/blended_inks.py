import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

rng = np.random.default_rng(40)
torch.manual_seed(40)


def mixup(x, y, alpha=0.4):
    lam = float(rng.beta(alpha, alpha))
    perm = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[perm], y, y[perm], lam


digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
y = torch.tensor(digits.target)
model = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(192, 64), nn.ReLU(), nn.Linear(64, 10)
)
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    for idx in torch.randperm(1400).split(50):
        xb, ya, yb, lam = mixup(x[idx], y[idx])
        out = model(xb)
        loss = lam * F.cross_entropy(out, ya) + (1 - lam) * F.cross_entropy(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        acc = (model(x[1400:]).argmax(1) == y[1400:]).float().mean()
    print(f"epoch {epoch}: mixed loss {loss.item():.3f} acc {acc:.3f}")
