import argparse

import torch
from sklearn.datasets import make_circles
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_loader(seed, batch_size):
    x, y = make_circles(n_samples=1200, noise=0.1, factor=0.6, random_state=seed)
    data = TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))
    return DataLoader(data, batch_size=batch_size, shuffle=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--max-lr", type=float, default=0.05)
    parser.add_argument("--batch-size", type=int, default=40)
    args = parser.parse_args()

    torch.manual_seed(0)
    loader, test_loader = get_loader(0, args.batch_size), get_loader(1, 400)
    model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.max_lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.max_lr, epochs=args.epochs, steps_per_epoch=len(loader)
    )
    criterion = nn.BCEWithLogitsLoss()

    for epoch in range(args.epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x).squeeze(1), y)
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        right = 0
        with torch.no_grad():
            for x, y in test_loader:
                right += ((model(x).squeeze(1) > 0) == y.bool()).sum().item()
        lr = optimizer.param_groups[0]["lr"]
        print(f"epoch {epoch:2d} loss {loss.item():.3f} acc {right / 1200:.3f} lr {lr:.5f}")


if __name__ == "__main__":
    main()
