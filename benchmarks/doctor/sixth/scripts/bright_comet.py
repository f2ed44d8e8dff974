import torch
import torch.nn as nn

torch.manual_seed(19)
STEPS, WARMUP, PEAK = 600, 120, 1.0


def orbit(n):
    t = torch.rand(n, 3) * 2 - 1
    return t, torch.stack([torch.cos(3 * t[:, 0]) * t[:, 1], torch.sin(2 * t[:, 2])], 1)


def lr_at(step):
    return PEAK * min(1.0, (step + 1) / WARMUP)


model = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=PEAK)
for step in range(STEPS):
    for group in optimizer.param_groups:
        group["lr"] = lr_at(step)
    x, y = orbit(64)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step} lr {lr_at(step):.4f} loss {loss.item():.4f}")
