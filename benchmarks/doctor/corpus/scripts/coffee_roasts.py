import argparse

import torch
from torch import nn, optim


def roasts(n, generator):
    level = torch.randint(0, 4, (n,), generator=generator)
    colour = 1 - 0.6 * level.float().unsqueeze(1) + 0.3 * torch.randn(n, 3, generator=generator)
    smell = torch.sin(level.float()).unsqueeze(1) + 0.4 * torch.randn(n, 2, generator=generator)
    return torch.cat([colour, smell], dim=1), level


def train(model, x, y, epochs, batch_size, lr):
    optimizer = optim.Adam(model.parameters(), lr=lr)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(x)).split(batch_size):
            loss = loss_fn(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item() * len(idx)
        print(f"epoch {epoch}: loss {total / len(x):.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    torch.manual_seed(105)
    g = torch.Generator().manual_seed(105)
    model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 4))
    train(model, *roasts(600, g), args.epochs, args.batch_size, args.lr)
    x, y = roasts(200, g)
    with torch.no_grad():
        print("test accuracy", (model(x).argmax(1) == y).float().mean().item())


if __name__ == "__main__":
    main()
