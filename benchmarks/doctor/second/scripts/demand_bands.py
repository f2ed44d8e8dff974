import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Bands(nn.Module):
    """quantiles that cannot cross: the lowest one plus positive widths"""

    def __init__(self, inputs, quantiles, hidden):
        super().__init__()
        self.register_buffer("q", torch.tensor(quantiles))
        self.body = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.low = nn.Linear(hidden, 1)
        self.width = nn.Linear(hidden, len(quantiles) - 1)

    def forward(self, x):
        h = self.body(x)
        steps = nn.functional.softplus(self.width(h)).cumsum(1)
        return torch.cat([self.low(h), self.low(h) + steps], 1)

    def loss(self, x, y):
        miss = y.unsqueeze(1) - self(x)
        return torch.maximum(self.q * miss, (self.q - 1) * miss).mean()


def shops(n):
    x = torch.randn(n, 4)
    spread = 0.2 + 0.4 * torch.sigmoid(2 * x[:, 3])
    return x, 0.7 * x[:, 0] + 0.5 * torch.sin(2 * x[:, 1]) + spread * torch.randn(n)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.manual_seed(75)
    train = DataLoader(TensorDataset(*shops(2000)), batch_size=80, shuffle=True)
    xt, yt = shops(500)
    model = Bands(4, [0.1, 0.5, 0.9], args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, y in train:
            loss = model.loss(x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / len(train)
        model.eval()
        with torch.no_grad():
            below = (yt.unsqueeze(1) < model(xt)).float().mean(0)
        print(f"epoch {epoch}: pinball {total:.4f} share below the bands {[round(b, 3) for b in below.tolist()]}")


if __name__ == "__main__":
    main()
