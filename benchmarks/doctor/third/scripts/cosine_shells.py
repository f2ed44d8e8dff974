"""Sort shells by shape; cosine schedule."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--batch-size", type=int, default=32)
    return p.parse_args()


def train_epoch(model, loader, optimizer, scheduler):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
    return loss.item()


def main():
    args = parse()
    torch.manual_seed(102)
    protos = torch.randn(4, 1, 10, 10)
    y = torch.randint(0, 4, (640,))
    x = protos[y] + torch.randn(640, 1, 10, 10)
    loader = DataLoader(TensorDataset(x, y), batch_size=args.batch_size, shuffle=True)
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    for epoch in range(args.epochs):
        loss = train_epoch(model, loader, optimizer, scheduler)
        print(f"epoch {epoch} loss {loss:.4f}")


if __name__ == "__main__":
    main()
