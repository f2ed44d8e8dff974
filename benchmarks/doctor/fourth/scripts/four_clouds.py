import argparse

import torch
import torch.nn as nn


def blobs(n):
    y = torch.randint(0, 4, (n,))
    centres = 2 * torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
    return centres[y] + torch.randn(n, 6), y


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-6)
    parser.add_argument("--epochs", type=int, default=6)
    args = parser.parse_args(argv)
    torch.manual_seed(0)
    x, y = blobs(1600)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        total = 0.0
        for idx in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print(f"epoch {epoch}: {total / len(x):.4f}")


if __name__ == "__main__":
    main()
