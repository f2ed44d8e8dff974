"""Accumulate four micro-batches, whatever is left at the end included."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=6)
    return parser.parse_args()


def main():
    args = parse()
    torch.manual_seed(0)
    x = torch.randn(720, 10)
    y = (x[:, 0] * x[:, 1] > 0).long()
    train = DataLoader(TensorDataset(x[:600], y[:600]), batch_size=10, shuffle=True)
    model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for epoch in range(args.epochs):
        total = 0.0
        for i, (inputs, labels) in enumerate(train):
            first = i - i % args.accumulate
            group = min(args.accumulate, len(train) - first)
            loss = nn.functional.cross_entropy(model(inputs), labels)
            (loss / group).backward()
            total += loss.item()
            if i + 1 == first + group:
                optimizer.step()
                optimizer.zero_grad()
        with torch.no_grad():
            val = (model(x[600:]).argmax(1) == y[600:]).float().mean().item()
        print(f"epoch {epoch} loss {total / len(train):.4f} val {val:.3f}")


main()
