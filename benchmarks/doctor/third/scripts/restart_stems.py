"""Warm restarts per batch, as in SGDR."""
import torch
from torch import nn

torch.manual_seed(106)
w = torch.randn(8, 1)


def batch(n=64):
    x = torch.randn(n, 8)
    return x, torch.tanh(x @ w) + 0.1 * torch.randn(n, 1)


model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=25, T_mult=2)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=10)
snapshots = []

for step in range(175):
    x, y = batch()
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step < 10:
        warmup.step()
    else:
        scheduler.step(step - 10)
    if step in (34, 84, 174):
        snapshots.append({k: v.clone() for k, v in model.state_dict().items()})
    if step % 25 == 0:
        print(step, f"{loss.item():.4f} lr {optimizer.param_groups[0]['lr']:.4f}")
print(len(snapshots), "snapshots")
