"""Predict the next value of a noisy wave with an LSTM."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optim = torch.optim.Adam(model.parameters(), lr=lr)

    def train_step(self, x, y):
        loss = F.mse_loss(self.model(x), y)
        loss.backward()
        self.optim.step()
        return loss.item()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            total = 0.0
            for x, y in loader:
                total += self.train_step(x, y)
            print("epoch", epoch, "mse", round(total / len(loader), 4))

    @torch.no_grad()
    def score(self, x, y):
        return F.mse_loss(self.model(x), y).item()


def windows(n, length=20):
    phase = torch.rand(n, 1) * 2 * math.pi
    t = torch.arange(length + 1) * 0.35
    wave = torch.sin(phase + t) + 0.05 * torch.randn(n, length + 1)
    return wave[:, :-1, None], wave[:, -1:]


if __name__ == "__main__":
    torch.manual_seed(3)
    x, y = windows(384)
    x_test, y_test = windows(96)
    trainer = Trainer(Forecaster(), lr=1e-2)
    trainer.fit(DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True), epochs=6)
    print("held-out mse", round(trainer.score(x_test, y_test), 4))
