"""Estimate parcel weights from their measurements, with a large effective batch."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CFG = dict(seed=21, micro=24, per_step=4, epochs=8, lr=4e-3)


def parcels(n):
    x = torch.randn(n, 6)
    y = 0.9 * x[:, 0] * x[:, 1] + torch.sin(x[:, 2]) + 0.5 * x[:, 3] + 0.1 * torch.randn(n)
    return x, y


def groups(loader, size):
    held = []
    for batch in loader:
        held.append(batch)
        if len(held) == size:
            yield held
            held = []
    if held:
        yield held


def run(cfg):
    torch.manual_seed(cfg["seed"])
    x, y = parcels(1000)
    xt, yt = parcels(300)
    loader = DataLoader(TensorDataset(x, y), batch_size=cfg["micro"], shuffle=True)
    model = nn.Sequential(
        nn.Linear(6, 64), nn.LayerNorm(64), nn.ReLU(),
        nn.Linear(64, 64), nn.LayerNorm(64), nn.ReLU(),
        nn.Linear(64, 1), nn.Flatten(0),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for epoch in range(cfg["epochs"]):
        model.train()
        seen = 0.0
        for group in groups(loader, cfg["per_step"]):
            rows = sum(len(b[1]) for b in group)
            optimizer.zero_grad()
            for bx, by in group:
                loss = F.mse_loss(model(bx), by) * (len(by) / rows)
                loss.backward()
                seen += loss.item() * rows
            optimizer.step()
        model.eval()
        with torch.no_grad():
            test = F.mse_loss(model(xt), yt).item()
        print(f"epoch {epoch}: train {seen / len(x):.4f}  test {test:.4f}")


if __name__ == "__main__":
    run(CFG)
