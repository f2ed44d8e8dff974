"""Predict the boiling time of a kettle from its dimensions."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 10, generator=g)
    w = torch.linspace(-1, 1, 10)
    y = (x @ w + 0.5 * x[:, 0] * x[:, 1]).unsqueeze(1) + 0.05 * torch.randn(n, 1, generator=g)
    return TensorDataset(x, y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--accum", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.035)
    args = parser.parse_args()

    torch.manual_seed(3)
    train = DataLoader(make_data(1024, 0), batch_size=16, shuffle=True)
    val = DataLoader(make_data(256, 1), batch_size=64)
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    criterion = nn.MSELoss()

    for epoch in range(args.epochs):
        model.train()
        optimizer.zero_grad()
        running = 0.0
        for i, (x, y) in enumerate(train):
            loss = criterion(model(x), y)
            loss.backward()
            running += loss.item()
            if (i + 1) % args.accum == 0:
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            error = sum(criterion(model(x), y).item() for x, y in val) / len(val)
        print(f"epoch {epoch} train {running / len(train):.4f} val {error:.4f}")


if __name__ == "__main__":
    main()
