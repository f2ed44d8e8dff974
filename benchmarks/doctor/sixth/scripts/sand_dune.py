"""Sand pile slopes: a warm-up epoch with a small rate, then the real training."""
import random

import torch
from torch import nn


def piles(n):
    x = torch.randn(n, 7)
    return x, torch.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3]


def warm_up(model, data, lr=1e-3):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for x, y in data:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    model.zero_grad()


def train(model, data, epochs=6, lr=0.02):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        total = 0.0
        random.shuffle(data)
        for x, y in data:
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(data):.4f}")


random.seed(1)
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(7, 32), nn.Tanh(), nn.Linear(32, 1))
x, y = piles(800)
batches = list(zip(x.split(20), y.split(20)))
warm_up(model, batches)
train(model, batches)
