import argparse

import torch
import torch.nn as nn


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--max-norm", type=float, default=1e-4)
    p.add_argument("--epochs", type=int, default=5)
    return p.parse_args()


def digits(n):
    y = torch.randint(0, 10, (n,))
    stencils = torch.randn(10, 1, 8, 8, generator=torch.Generator().manual_seed(10))
    return stencils[y] + 0.7 * torch.randn(n, 1, 8, 8), y


def main():
    args = parse()
    torch.manual_seed(0)
    x, y = digits(2000)
    model = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(192, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        hits = 0
        for idx in torch.randperm(len(x)).split(64):
            out = model(x[idx])
            loss = nn.functional.cross_entropy(out, y[idx])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
            optimizer.step()
            hits += (out.argmax(1) == y[idx]).sum().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {hits / len(x):.3f}")


if __name__ == "__main__":
    main()
