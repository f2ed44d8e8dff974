from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class TrainConfig:
    lr: float = 1e-7
    weight_decay: float = 0.01
    batch_size: int = 32
    max_steps: int = 500
    hidden: int = 40


class Regressor(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, hidden), nn.SiLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.layers(x)


def shells(n):
    x = torch.randn(n, 8)
    return x, x[:, :1] - 2 * x[:, 1:2] + x[:, 2:3] * x[:, 3:4]


def train(config):
    model = Regressor(config.hidden)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr, weight_decay=config.weight_decay)
    for step in range(config.max_steps):
        x, y = shells(config.batch_size)
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 100 == 0:
            print(f"[{step}/{config.max_steps}] loss {loss.item():.4f}")
    return model


torch.manual_seed(0)
train(TrainConfig())
