"""Leaf classifier with automatic mixed precision."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(201)
centres = torch.randn(5, 24)
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)


def get_batch(n=64):
    y = torch.randint(0, 5, (n,))
    return centres[y] + torch.randn(n, 24), y


def train_step():
    x, y = get_batch()
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    optimizer.step()
    return loss.item()


if __name__ == "__main__":
    for step in range(80):
        loss = train_step()
        if step % 20 == 0:
            print(f"{step}: {loss:.4f}")
