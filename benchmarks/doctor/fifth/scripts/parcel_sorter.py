import argparse

import numpy as np
import torch
from torch import nn


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--accum", type=int, default=3)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=5)
    return parser.parse_args()


def parcels(n, rng):
    sizes = rng.uniform(0.1, 1.0, size=(n, 3))
    weight = rng.uniform(0.0, 1.0, size=(n, 1))
    volume = sizes.prod(axis=1)
    kind = (volume > 0.12).astype(int) + (weight[:, 0] > 0.5).astype(int)
    return np.concatenate([sizes, weight], axis=1).astype(np.float32), kind.astype(np.int64)


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    x, y = map(torch.from_numpy, parcels(1200, rng))
    mean, std = x.mean(0), x.std(0)
    x = (x - mean) / std

    model = nn.Sequential(nn.Linear(4, 40), nn.GELU(), nn.Linear(40, 40), nn.GELU(), nn.Linear(40, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loss_fn = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        total, right = 0.0, 0
        order = torch.randperm(len(x))
        for i, idx in enumerate(order.split(args.batch_size)):
            logits = model(x[idx])
            loss = loss_fn(logits, y[idx])
            (loss / args.accum).backward()
            if (i + 1) % args.accum == args.accum:
                optimizer.step()
                optimizer.zero_grad()
            total += loss.item() * len(idx)
            right += (logits.argmax(1) == y[idx]).sum().item()
        print(f"epoch {epoch}: loss {total / len(x):.4f} acc {right / len(x):.3f}")


if __name__ == "__main__":
    main()
