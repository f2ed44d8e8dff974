import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def refresh_statistics(model, loader):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.reset_running_stats()
            m.momentum = None
    model.train()
    with torch.no_grad():
        for x, _ in loader:
            model(x)


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(30)
    d = load_digits()
    x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
    loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=50, shuffle=True)
    model = nn.Sequential(nn.Linear(64, 80), nn.BatchNorm1d(80), nn.ReLU(), nn.Linear(80, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(5):
        model.train()
        for xb, yb in loader:
            loss = nn.functional.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f} acc {evaluate(model, x[1400:], y[1400:]):.3f}")
    refresh_statistics(model, loader)
    print(f"fresh statistics: acc {evaluate(model, x[1400:], y[1400:]):.3f}")


main()
