"""Regress the brightness of single pictures, one at a time with accumulation."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(122)
level = torch.randn(240, 1)
pictures = level[:, :, None, None] + 0.5 * torch.randn(240, 1, 8, 8)
train = DataLoader(TensorDataset(pictures[:200], level[:200]), batch_size=1, shuffle=True)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.Conv2d(8, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
accumulate = 8
for epoch in range(3):
    model.train()
    optimizer.zero_grad()
    total = 0.0
    for i, (x, y) in enumerate(train, 1):
        loss = nn.functional.mse_loss(model(x), y) / accumulate
        loss.backward()
        total += loss.item() * accumulate
        if i % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(pictures[200:]), level[200:]).item()
    print(epoch, f"train {total / 200:.4f} val {val:.4f}")
