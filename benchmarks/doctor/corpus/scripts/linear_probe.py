"""Pretrain on shape, then train a linear probe for the colour on the frozen features."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def scenes(n):
    shape, colour = torch.randint(0, 3, (n,)), torch.randint(0, 2, (n,))
    g = torch.Generator().manual_seed(0)
    stamps = torch.randn(3, 1, 8, 8, generator=g)
    tint = torch.randn(2, 3, 1, 1, generator=g)
    x = stamps[shape].expand(n, 3, 8, 8) + tint[colour] + 0.5 * torch.randn(n, 3, 8, 8)
    return (x - x.mean()) / x.std(), shape, colour


torch.manual_seed(113)
backbone = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1),
)
shape_head, colour_head = nn.Linear(256, 3), nn.Linear(256, 2)

optimizer = torch.optim.Adam([*backbone.parameters(), *shape_head.parameters()], lr=2e-3)
backbone.train()
for step in range(40):
    x, shape, _ = scenes(32)
    loss = F.cross_entropy(shape_head(backbone(x)), shape)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("pretraining loss", loss.item())

backbone.eval()
probe_optimizer = torch.optim.Adam(colour_head.parameters(), lr=5e-3)
for step in range(80):
    x, _, colour = scenes(32)
    with torch.no_grad():
        features = backbone(x)
    loss = F.cross_entropy(colour_head(features), colour)
    probe_optimizer.zero_grad()
    loss.backward()
    probe_optimizer.step()
    if step % 20 == 0:
        print(f"probe step {step} loss {loss.item():.3f}")
x, _, colour = scenes(200)
with torch.no_grad():
    print("probe accuracy", (colour_head(backbone(x)).argmax(1) == colour).float().mean().item())
