"""Ferry delays: a small regression with the one-cycle policy."""
import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset


def crossings(n):
    x = torch.randn(n, 9)
    y = torch.relu(x[:, 0] + x[:, 1]) + 0.5 * torch.sin(2 * x[:, 2]) + 0.1 * torch.randn(n)
    return TensorDataset(x, y[:, None])


def main():
    torch.manual_seed(31)
    epochs = 12
    train, held = DataLoader(crossings(960), 32, shuffle=True), DataLoader(crossings(240), 80)
    model = nn.Sequential(nn.Linear(9, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scheduler = OneCycleLR(optimizer, max_lr=1e-2, total_steps=epochs * len(train))
    for epoch in range(epochs):
        total = 0.0
        for x, y in train:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        with torch.no_grad():
            val = sum(nn.functional.mse_loss(model(x), y).item() for x, y in held) / len(held)
        print(f"epoch {epoch:2d} lr {scheduler.get_last_lr()[0]:.5f} train {total / len(train):.4f} val {val:.4f}")


main()
