import torch
import torch.nn as nn


def series(n, gen):
    walk = torch.randn(n, generator=gen).cumsum(0)
    walk = (walk - walk.mean()) / walk.std()
    return walk


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def fit(model, windows, targets, epochs, max_norm):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.SmoothL1Loss()
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(windows)).split(32):
            optimizer.zero_grad()
            loss = loss_fn(model(windows[idx]), targets[idx])
            loss.backward()
            optimizer.step()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            total += loss.item() * len(idx)
        print(f"[{epoch}] {total / len(windows):.5f}")


gen = torch.Generator().manual_seed(0)
torch.manual_seed(0)
prices = series(900, gen)
windows = prices.unfold(0, 21, 1)
x, y = windows[:, :-1].unsqueeze(-1), windows[:, -1:]
fit(Forecaster(), x, y, epochs=5, max_norm=0.5)
