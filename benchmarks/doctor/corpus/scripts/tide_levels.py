import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def squared_error(prediction, target):
    return ((prediction - target) ** 2).sum()


def tide(n, seed):
    g = torch.Generator().manual_seed(seed)
    hours = torch.rand(n, 1, generator=g) * 48
    x = torch.cat([f(2 * math.pi * hours / p) for p in (12.42, 24.0) for f in (torch.sin, torch.cos)], dim=1)
    level = x[:, :1] + 0.4 * x[:, 2:3] * x[:, :1] + 0.05 * torch.randn(n, 1, generator=g)
    return x * 1.4, level


def main(args):
    torch.manual_seed(args.seed)
    loader = DataLoader(TensorDataset(*tide(640, 0)), batch_size=args.batch, shuffle=True)
    x_test, y_test = tide(200, 1)
    model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        seen = 0.0
        for x, y in loader:
            loss = squared_error(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += loss.item()
        print(f"epoch {epoch:2d} loss {seen / len(loader):.3f}")
    with torch.no_grad():
        print("test mse", (model(x_test) - y_test).pow(2).mean().item())


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.004)
    p.add_argument("--seed", type=int, default=59)
    main(p.parse_args())
