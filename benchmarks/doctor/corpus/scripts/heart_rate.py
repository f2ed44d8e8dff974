import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser(description="heart rate from speed, incline and age")
parser.add_argument("--lr", type=float, default=1e-7)
parser.add_argument("--steps", type=int, default=150)
parser.add_argument("--batch-size", type=int, default=64)
args = parser.parse_args()

torch.manual_seed(63)


def runners(n):
    x = torch.randn(n, 3)
    rate = 0.8 * x[:, 0] + 0.4 * x[:, 1] * x[:, 0] - 0.3 * x[:, 2]
    return x, rate.unsqueeze(1) + 0.1 * torch.randn(n, 1)


model = nn.Sequential(nn.Linear(3, 24), nn.ELU(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
for step in range(args.steps):
    x, y = runners(args.batch_size)
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(f"{step:4d} {loss.item():.4f}")

x, y = runners(500)
with torch.no_grad():
    print("test", F.mse_loss(model(x), y).item())
