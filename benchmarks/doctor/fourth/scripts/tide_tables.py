import argparse

import torch
import torch.nn as nn


def synth(n, sensors, seed):
    g = torch.Generator().manual_seed(seed)
    level = torch.randn(n, 1, generator=g)
    values = level + 0.3 * torch.randn(n, sensors, generator=g)
    valid = (torch.rand(n, sensors, generator=g) < 0.45).float()
    return values * valid, valid, level


class Pooler(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(1, width)
        self.out = nn.Linear(width, 1)

    def forward(self, values, valid):
        h = torch.tanh(self.up(values.unsqueeze(-1)))
        count = valid.sum(1, keepdim=True).clamp(min=1.0)
        return self.out((h * valid.unsqueeze(-1)).sum(1) / count)


def run(args):
    torch.manual_seed(args.seed)
    values, valid, level = synth(1600, 6, seed=2)
    cut = 1280
    model = Pooler(args.width)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        for idx in torch.randperm(cut).split(64):
            loss = (model(values[idx], valid[idx]) - level[idx]).pow(2).mean()
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            held = (model(values[cut:], valid[cut:]) - level[cut:]).pow(2).mean()
        print(f"epoch {epoch} held-out mse {held:.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--seed", type=int, default=0)
    run(p.parse_args())
