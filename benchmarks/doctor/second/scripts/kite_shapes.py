import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def outlines(n):
    """kite, square or cross drawn on a 14 x 14 canvas"""
    r = torch.arange(14) - 6.5
    gy, gx = torch.meshgrid(r, r, indexing="ij")
    shapes = torch.stack([
        (gx.abs() + gy.abs() < 6).float(),
        (torch.maximum(gx.abs(), gy.abs()) < 4).float(),
        ((gx.abs() < 1.5) | (gy.abs() < 1.5)).float(),
    ])
    label = torch.randint(0, 3, (n,))
    img = shapes[label] + 0.8 * torch.randn(n, 14, 14)
    return ((img - 0.4) / 0.95).unsqueeze(1), label


def build():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GroupNorm(4, 32), nn.SiLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 3),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--wd", type=float, default=0.1)
    args = parser.parse_args()
    torch.manual_seed(2106)
    loader = DataLoader(TensorDataset(*outlines(512)), batch_size=32, shuffle=True, num_workers=0)
    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.wd)
    for epoch in range(args.epochs):
        for img, label in loader:
            loss = nn.functional.cross_entropy(model(img), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "last loss", round(loss.item(), 4))
    img, label = outlines(300)
    with torch.no_grad():
        print("accuracy", (model(img).argmax(1) == label).float().mean().item())


main()
