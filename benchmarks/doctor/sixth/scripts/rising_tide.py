import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, WARMUP = 10, 40
torch.manual_seed(0)
t = torch.rand(640, 1) * 10
features = torch.cat([torch.sin(t), torch.cos(t), torch.sin(3 * t)], 1) + 0.05 * torch.randn(640, 3)
height = torch.sin(t) * torch.cos(3 * t)
loader = DataLoader(TensorDataset(features[:512], height[:512]), batch_size=32, shuffle=True)
total = EPOCHS * len(loader)


def factor(step):
    if step < WARMUP:
        return (step + 1) / WARMUP
    return 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (total - WARMUP)))


model = nn.Sequential(nn.Linear(3, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
for epoch in range(EPOCHS):
    model.train()
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(features[512:]), height[512:]).item()
    print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.6f} train {loss.item():.4f} val {val:.4f}")
