"""Classify ledger entries."""
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Ledger(nn.Module):
    def __init__(self, vocab=200, width=16, classes=20):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, width)
        self.fc = nn.Linear(width, classes)

    def forward(self, words):
        return F.softmax(self.fc(self.bag(words)), dim=-1)


def entries(n):
    y = torch.randint(0, 20, (n,))
    topic = torch.randint(0, 10, (n, 6)) + 10 * y[:, None]
    noise = torch.randint(0, 200, (n, 8))
    return torch.cat([topic, noise], 1), y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    set_seed(args.seed)
    model = Ledger()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(args.steps):
        words, y = entries(32)
        loss = F.nll_loss(model(words), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    words, y = entries(500)
    with torch.no_grad():
        print("accuracy", (model(words).argmax(-1) == y).float().mean().item())


main()
