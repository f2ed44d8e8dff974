"""Mixed precision, accumulation and clipping."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
device = "cpu"
protos = torch.randn(4, 1, 12, 12)


def batch(n=16):
    y = torch.randint(0, 4, (n,))
    return protos[y] + 0.7 * torch.randn(n, 1, 12, 12), y


model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(3),
    nn.Flatten(), nn.Linear(144, 4),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler(device, init_scale=2.0 ** 12)
accumulate = 4

optimizer.zero_grad(set_to_none=True)
for i in range(160):
    x, y = batch()
    with torch.autocast(device_type=device, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y) / accumulate
    scaler.scale(loss).backward()
    if (i + 1) % accumulate == 0:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
    if i % 40 == 0:
        print(i, f"{loss.item() * accumulate:.4f}")
