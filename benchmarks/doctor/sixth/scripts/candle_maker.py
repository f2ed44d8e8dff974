import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def build_loaders(batch_size=32):
    x = torch.randn(400, 30)
    y = (x[:, 0] + 0.3 * x[:, 1] > 0).long()
    flip = torch.rand(400) < 0.15
    y = torch.where(flip, 1 - y, y)
    train_set, test_set = random_split(TensorDataset(x, y), [300, 100])
    train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
    test_loader = DataLoader(train_set, batch_size=batch_size)
    return train_loader, test_loader


@torch.no_grad()
def test(model, loader):
    model.eval()
    hits = total = 0
    for x, y in loader:
        hits += (model(x).argmax(1) == y).sum().item()
        total += len(y)
    return hits / total


def main():
    torch.manual_seed(0)
    train_loader, test_loader = build_loaders()
    model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(10):
        model.train()
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f} test accuracy {test(model, test_loader):.3f}")


main()
