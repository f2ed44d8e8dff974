"""Float16 autocast with a scaler, on the CPU."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(263)
mix = torch.randn(32, 64) / 6


def maps(n=32):
    x = torch.randn(n, 32)
    return x, torch.tanh(x @ mix)


model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 16, growth_interval=50)
skipped = 0
for step in range(120):
    x, y = maps()
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        pred = model(x)
    loss = F.mse_loss(pred.float(), y)
    scaler.scale(loss).backward()
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    skipped += scaler.get_scale() < before
    if step % 30 == 0:
        print(step, f"{loss.item():.4f} scale {scaler.get_scale():.0f} skipped {skipped}")
