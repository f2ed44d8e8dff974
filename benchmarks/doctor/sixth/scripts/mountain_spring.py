"""Sparse autoencoder: few active units per sample."""
import argparse

import torch
from torch import nn


class Sparse(nn.Module):
    def __init__(self, n=30, k=40):
        super().__init__()
        self.enc = nn.Linear(n, k)
        self.dec = nn.Linear(k, n)

    def forward(self, x):
        code = torch.relu(self.enc(x))
        return self.dec(code), code


def run(opts):
    torch.manual_seed(opts.seed)
    atoms = torch.randn(12, 30) / 2
    model = Sparse()
    optimizer = torch.optim.Adam(model.parameters(), lr=opts.lr)
    for step in range(opts.steps):
        weights = torch.rand(64, 12) * (torch.rand(64, 12) < 0.2)
        x = weights @ atoms
        rebuilt, code = model(x)
        fit = (rebuilt - x).pow(2).mean()
        sparsity = code.data.abs().mean()
        loss = fit + opts.beta * sparsity
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 80 == 0:
            active = (code > 0).float().mean().item()
            print(f"{step} fit {fit.item():.4f} sparsity {sparsity.item():.4f} active {active:.2f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--beta", type=float, default=0.5)
    p.add_argument("--seed", type=int, default=0)
    run(p.parse_args())
