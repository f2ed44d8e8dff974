import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def applicants(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 10, generator=g)
    score = x[:, 0] + x[:, 1] * x[:, 2] - 0.7 * x[:, 4]
    return x, (score > 0).float().unsqueeze(1)


class Scorer(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, hidden), nn.BatchNorm1d(hidden), nn.ReLU())
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.head(self.body(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=40)
    parser.add_argument("--accumulate", type=int, default=16)
    args = parser.parse_args()

    torch.manual_seed(13)
    loader = DataLoader(TensorDataset(*applicants(384, 0)), batch_size=2, shuffle=True)
    test_x, test_y = applicants(200, 1)
    model = Scorer(args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(args.epochs):
        model.train()
        for i, (x, y) in enumerate(loader, start=1):
            loss = bce(model(x), y)
            (loss / args.accumulate).backward()
            if i % args.accumulate == 0:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
        model.eval()
        with torch.no_grad():
            hit = ((model(test_x) > 0).float() == test_y).float().mean().item()
        print(f"epoch {epoch}: held-out accuracy {hit:.3f}")


if __name__ == "__main__":
    main()
