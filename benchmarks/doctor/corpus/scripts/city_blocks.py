import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load(n, seed):
    g = torch.Generator().manual_seed(seed)
    crime = torch.rand(n, generator=g).pow(3) * 50
    rooms = 4 + 4 * torch.rand(n, generator=g)
    distance = 1 + 11 * torch.rand(n, generator=g)
    price = 9 * rooms - 0.3 * crime - 0.8 * distance + 2 * torch.randn(n, generator=g)
    return torch.stack([crime, rooms, distance], 1), price.unsqueeze(1)


def standardise(train, other):
    mean, std = train.mean(0), train.std(0)
    return (train - mean) / std, (other - mean) / std


def main(argv=None):
    parser = argparse.ArgumentParser(description="price regression")
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args(argv)

    torch.manual_seed(174)
    (x, y), (x_test, y_test) = load(640, 0), load(160, 1)
    x, x_test = standardise(x, x_test)
    y, y_test = standardise(y, y_test)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(3, args.hidden), nn.ReLU(), nn.Linear(args.hidden, 1))
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        total = 0.0
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 2 == 0:
            print(f"epoch {epoch:2d}: mse {total / len(loader):.4f}")
    with torch.no_grad():
        print(f"test mse {loss_fn(model(x_test), y_test).item():.4f}")


main()
