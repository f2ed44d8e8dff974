import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def mixup(x, y, alpha, rng):
    lam = float(rng.beta(alpha, alpha))
    index = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[index], y, y[index], lam


def colours(n):
    y = torch.randint(0, 5, (n,))
    hue = torch.nn.functional.one_hot(y, 5).float() @ torch.linspace(-1, 1, 40).view(5, 8)
    return TensorDataset(hue + 0.4 * torch.randn(n, 8), y)


def main():
    torch.manual_seed(2)
    rng = np.random.default_rng(2)
    train, test = DataLoader(colours(600), 30, shuffle=True), DataLoader(colours(200), 100)
    net = nn.Sequential(nn.Linear(8, 40), nn.ReLU(), nn.Linear(40, 5))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(8):
        net.train()
        total = 0.0
        for x, y in train:
            mixed, a, b, lam = mixup(x, y, 0.4, rng)
            out = net(mixed)
            loss = lam * criterion(out, a) + (1 - lam) * criterion(out, b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        net.eval()
        with torch.no_grad():
            right = sum((net(x).argmax(1) == y).sum().item() for x, y in test)
        print(f"epoch {epoch} loss {total / len(train):.4f} accuracy {right / 200:.3f}")


main()
