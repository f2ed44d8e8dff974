import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

WINDOW = 24


class Windows(Dataset):
    def __init__(self, series):
        self.series = series

    def __len__(self):
        return len(self.series) - WINDOW

    def __getitem__(self, i):
        return self.series[i : i + WINDOW], self.series[i + WINDOW].unsqueeze(0)


def sales(n):
    t = torch.arange(n).float()
    return 10 + 3 * torch.sin(t * 6.283 / 7) + 2 * torch.sin(t * 6.283 / 30) + 0.4 * torch.randn(n)


def main():
    torch.manual_seed(0)
    series = sales(1500)
    past, future = series[:1200], series[1200 + WINDOW :]
    mean, std = past.mean(), past.std()
    train = DataLoader(Windows((past - mean) / std), batch_size=32, shuffle=True)
    valid = DataLoader(Windows((future - mean) / std), batch_size=128)
    model = nn.Sequential(nn.Linear(WINDOW, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(6):
        model.train()
        for xb, yb in train:
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(xb), yb)
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            total = sum(nn.functional.mse_loss(model(xb), yb, reduction="sum").item() for xb, yb in valid)
        print(f"epoch {epoch}: valid mse {total / len(valid.dataset):.4f}")


main()
