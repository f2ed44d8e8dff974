"""Detect a chirp in a noisy one-dimensional signal."""
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn


@dataclass
class Config:
    length: int = 64
    train_size: int = 600
    batch_size: int = 50
    epochs: int = 10
    lr: float = 6e-3


def simulate(cfg, rng, n):
    t = np.linspace(0, 1, cfg.length)
    signs = rng.choice([-1, 1], size=n)
    chirp = np.sin(2 * np.pi * (3 + 8 * t) * t)
    waves = rng.normal(0, 1, (n, cfg.length)) + (signs[:, None] > 0) * 1.2 * chirp
    return torch.tensor(waves, dtype=torch.float32), torch.tensor(signs, dtype=torch.float32)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 9, stride=2)
        self.out = nn.Linear(8, 1)

    def forward(self, wave):
        return self.out(torch.relu(self.conv(wave[:, None])).mean(-1)).squeeze(1)


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        rng = np.random.default_rng(11)
        self.train_set = simulate(cfg, rng, cfg.train_size)
        self.test_set = simulate(cfg, rng, 200)
        self.model = Detector()
        self.loss_fn = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr)

    def fit(self):
        waves, signs = self.train_set
        for epoch in range(self.cfg.epochs):
            self.model.train()
            losses = []
            for rows in torch.randperm(len(waves)).split(self.cfg.batch_size):
                self.optimizer.zero_grad()
                loss = self.loss_fn(self.model(waves[rows]), signs[rows])
                loss.backward()
                self.optimizer.step()
                losses.append(loss.item())
            print(epoch, round(float(np.mean(losses)), 4), "accuracy", self.score())

    @torch.no_grad()
    def score(self):
        self.model.eval()
        waves, signs = self.test_set
        return ((self.model(waves) > 0) == (signs > 0)).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(1)
    Trainer(Config()).fit()
