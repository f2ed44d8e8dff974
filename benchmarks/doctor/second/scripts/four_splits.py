"""Cross-validated choice of the hidden size."""
import statistics

import torch
import torch.nn as nn
import torch.nn.functional as F


def dataset(n=480):
    x = torch.randn(n, 7) * torch.tensor([1, 10, 0.1, 5, 2, 30, 1.0]) + torch.tensor([0, 50, 1, 0, 3, 100, 0.0])
    z = (x - x.mean(0)) / x.std(0)
    y = (z[:, 0] * z[:, 1] + z[:, 2] - 0.5 * z[:, 5] > 0).float()
    return x, y


def fit_fold(x, y, train, held, hidden, epochs=10):
    mean, std = x[train].mean(0), x[train].std(0)
    xs = (x - mean) / std
    net = nn.Sequential(nn.Linear(7, hidden), nn.ReLU(), nn.Linear(hidden, 1), nn.Flatten(0))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(epochs):
        net.train()
        for idx in train[torch.randperm(len(train))].split(40):
            opt.zero_grad()
            F.binary_cross_entropy_with_logits(net(xs[idx]), y[idx]).backward()
            opt.step()
    net.eval()
    with torch.no_grad():
        return ((net(xs[held]) > 0) == (y[held] > 0.5)).float().mean().item()


def main():
    torch.manual_seed(480)
    x, y = dataset()
    folds = torch.randperm(len(x)).chunk(4)
    for hidden in (8, 48):
        scores = []
        for k, held in enumerate(folds):
            train = torch.cat([f for j, f in enumerate(folds) if j != k])
            scores.append(fit_fold(x, y, train, held, hidden))
        print(f"hidden {hidden:2d}: accuracy {statistics.mean(scores):.3f} +- {statistics.stdev(scores):.3f}")


main()
