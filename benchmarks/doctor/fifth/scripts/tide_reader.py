import math

import torch
import torch.nn as nn

torch.manual_seed(11)


class TideModel(nn.Module):
    def __init__(self, window=24, hidden=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(window, hidden),
            nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def make_windows(n=1500, window=24):
    t = torch.arange(n + window, dtype=torch.float32)
    level = torch.sin(2 * math.pi * t / 12.4) + 0.4 * torch.sin(2 * math.pi * t / 25.8)
    level = level + 0.05 * torch.randn_like(level)
    xs = torch.stack([level[i : i + window] for i in range(n)])
    ys = level[window : window + n]
    return xs, ys


class Trainer:
    def __init__(self, model, lr=0.003):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.MSELoss()

    def train_step(self, x, y):
        self.optimizer.zero_grad
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, xs, ys, epochs=6, batch_size=32):
        for epoch in range(epochs):
            losses = []
            for idx in torch.randperm(len(xs)).split(batch_size):
                losses.append(self.train_step(xs[idx], ys[idx]))
            print(f"epoch {epoch + 1}: mse {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    xs, ys = make_windows()
    Trainer(TideModel()).fit(xs, ys)
