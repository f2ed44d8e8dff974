import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACCUMULATE = 3


def loaves(n):
    x = torch.randn(n, 7)
    taste = torch.sin(x[:, 0]) + 0.6 * x[:, 1] * x[:, 2] - 0.4 * x[:, 3] + 0.05 * torch.randn(n)
    return x, taste.unsqueeze(1)


def train_epoch(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for i, (x, taste) in enumerate(loader):
        if i % ACCUMULATE == 0:
            optimizer.zero_grad()
        loss = criterion(model(x), taste)
        (loss / ACCUMULATE).backward()
        total += loss.item()
        if i % ACCUMULATE == ACCUMULATE - 1:
            optimizer.step()
    # what is left of the last group
    optimizer.step()
    return total / len(loader)


def main():
    torch.manual_seed(2133)
    loader = DataLoader(TensorDataset(*loaves(480)), batch_size=40, shuffle=True)
    vx, vy = loaves(160)
    model = nn.Sequential(nn.Linear(7, 50), nn.SiLU(), nn.Linear(50, 50), nn.SiLU(), nn.Linear(50, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.MSELoss()
    for epoch in range(14):
        loss = train_epoch(model, loader, optimizer, criterion)
        model.eval()
        with torch.no_grad():
            val = criterion(model(vx), vy).item()
        print(f"epoch {epoch:2d} train {loss:.4f} valid {val:.4f}")


main()
