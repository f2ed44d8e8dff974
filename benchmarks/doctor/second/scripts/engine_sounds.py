import argparse
import math
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def recordings(per_class, seed):
    """idle, cruising and knocking engines, stored class by class"""
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(64) / 64
    sounds, labels = [], []
    for k, freq in enumerate((3.0, 6.0, 11.0)):
        phase = 2 * math.pi * torch.rand(per_class, 1, generator=g)
        sounds.append(torch.sin(2 * math.pi * freq * t + phase) + 0.5 * torch.randn(per_class, 64, generator=g))
        labels.append(torch.full((per_class,), k))
    return torch.cat(sounds).unsqueeze(1) / 0.87, torch.cat(labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=int, default=400, help="use fewer recordings")
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()

    torch.manual_seed(2121)
    x, y = recordings(500, seed=1)
    x, y = x[: args.limit], y[: args.limit]
    loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
    model = nn.Sequential(
        nn.Conv1d(1, 12, 9, padding=4), nn.ReLU(), nn.MaxPool1d(4),
        nn.Conv1d(12, 24, 5, padding=2), nn.ReLU(), nn.AdaptiveMaxPool1d(1),
        nn.Flatten(), nn.Linear(24, 3),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        for sound, label in loader:
            loss = nn.functional.cross_entropy(model(sound), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", round(loss.item(), 4))

    x, y = recordings(60, seed=2)
    with torch.no_grad():
        print("test accuracy", (model(x).argmax(1) == y).float().mean().item())


if __name__ == "__main__":
    main()
