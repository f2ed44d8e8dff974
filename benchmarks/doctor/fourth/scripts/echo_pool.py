import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Echoes(Dataset):
    """Clean signals with a random echo and random noise on every access."""

    def __init__(self, n=512, length=32):
        g = torch.Generator().manual_seed(1)
        t = torch.arange(length) * 0.3
        self.phase = 6.28 * torch.rand(n, 1, generator=g)
        self.clean = torch.sin(t + self.phase)
        self.rng = random.Random(7)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        delay = self.rng.randrange(1, 8)
        strength = self.rng.uniform(0.1, 0.6)
        noise = torch.tensor([self.rng.gauss(0, 0.2) for _ in range(32)])
        return self.clean[i] + strength * self.clean[i].roll(delay) + noise, self.clean[i]


def main():
    torch.manual_seed(0)
    loader = DataLoader(Echoes(), batch_size=32, shuffle=True, num_workers=2)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(3):
        total = 0.0
        for noisy, clean in loader:
            loss = nn.functional.mse_loss(model(noisy), clean)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
