"""Predict the strength of silk."""
import argparse

import torch
import torch.nn as nn


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=float, default=1.0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=150)
    return parser.parse_args()


def sample(n=64):
    x = torch.randn(n, 6)
    return x, torch.tanh(x[:, :1] + x[:, 1:2] * x[:, 2:3])


args = get_args()
torch.manual_seed(272)
model = nn.Sequential(
    nn.Linear(6, 64),
    nn.ReLU(),
    nn.Dropout(args.keep),
    nn.Linear(64, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
loss_fn = nn.MSELoss()
for step in range(args.steps):
    model.train()
    x, y = sample()
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.4f}")
