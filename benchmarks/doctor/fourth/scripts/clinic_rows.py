import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def load(seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(1200, 14, generator=g)
    y = (x[:, 0] + x[:, 1] + 0.4 * torch.randn(1200, generator=g) > 1.6).long()
    order = torch.randperm(1200, generator=g)
    return x[order], y[order]


def oversampling(y):
    weight = 1.0 / torch.bincount(y).float()
    return WeightedRandomSampler(weight[y], num_samples=len(y), replacement=True)


def main():
    torch.manual_seed(0)
    x, y = load(3)
    xt, yt, xv, yv = x[300:], y[300:], x[:300], y[:300]
    mean, std = xt.mean(0), xt.std(0)
    xt, xv = (xt - mean) / std, (xv - mean) / std
    train = DataLoader(TensorDataset(xt, yt), batch_size=32, sampler=oversampling(yt))
    model = nn.Sequential(nn.Linear(14, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(6):
        model.train()
        for xb, yb in train:
            loss = nn.functional.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            predicted = model(xv).argmax(1)
            recall = [(predicted[yv == c] == c).float().mean().item() for c in (0, 1)]
        print(epoch, [round(r, 3) for r in recall])


main()
