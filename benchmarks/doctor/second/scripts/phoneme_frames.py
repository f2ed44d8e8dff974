import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=6e-3)
parser.add_argument("--warmup", type=int, default=30)
parser.add_argument("--steps", type=int, default=180)
parser.add_argument("--seed", type=int, default=83)
args = parser.parse_args()
torch.manual_seed(args.seed)

PHONES, BANDS, FRAMES = 6, 16, 20
prototypes = torch.randn(PHONES, BANDS)


def utterances(n):
    phones = torch.randint(0, PHONES, (n, FRAMES // 4)).repeat_interleave(4, dim=1)
    x = prototypes[phones] + 1.0 * torch.randn(n, FRAMES, BANDS)
    return x.transpose(1, 2) / 1.4, phones


class FrameTagger(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(BANDS, width, 5, padding=2), nn.GELU(),
            nn.Conv1d(width, width, 5, padding=2), nn.GELU(),
            nn.Conv1d(width, PHONES, 1))

    def forward(self, x):
        return self.layers(x)


def rate(step):
    if step < args.warmup:
        return step / args.warmup
    return max(0.05, (args.steps - step) / (args.steps - args.warmup))


model = FrameTagger()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
for step in range(args.steps):
    x, phones = utterances(24)
    loss = F.cross_entropy(model(x), phones)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 30 == 0:
        print(f"step {step}: loss {loss.item():.3f} rate {scheduler.get_last_lr()[0]:.5f}")
model.eval()
with torch.no_grad():
    x, phones = utterances(100)
    print(f"frame accuracy {(model(x).argmax(1) == phones).float().mean():.3f}")
