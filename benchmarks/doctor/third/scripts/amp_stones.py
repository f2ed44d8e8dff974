"""Stone classifier; the same code for GPU and CPU."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(202)
device = "cuda" if torch.cuda.is_available() else "cpu"
use_scaler = device == "cuda"
dtype = torch.float16 if use_scaler else torch.bfloat16
centres = torch.randn(5, 24, device=device)
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 5)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler(device, enabled=use_scaler)


def get_batch(n=64):
    y = torch.randint(0, 5, (n,), device=device)
    return centres[y] + torch.randn(n, 24, device=device), y


for step in range(100):
    x, y = get_batch()
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device, dtype=dtype):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    scaler.step(optimizer)
    scaler.update()
    if step % 25 == 0:
        print(f"{step}: {loss.item():.4f}")
