import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def warm_cosine(step, warm, total):
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))


def main():
    torch.manual_seed(0)
    x = torch.randn(1600, 12)
    y = (x @ torch.randn(12, 5)).argmax(1)
    loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    epochs, accumulate = 5, 2
    total = epochs * len(loader) // accumulate
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: warm_cosine(s, 20, total))
    for epoch in range(epochs):
        running = 0.0
        for i, (xb, yb) in enumerate(loader, start=1):
            loss = nn.functional.cross_entropy(model(xb), yb)
            (loss / accumulate).backward()
            running += loss.item()
            if i % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()
        print(f"epoch {epoch}: {running / len(loader):.4f} rate {scheduler.get_last_lr()[0]:.6f}")


main()
