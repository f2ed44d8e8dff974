import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class NoisyTones(Dataset):
    """Denoising pairs: a tone with fresh noise, and the clean tone."""

    def __init__(self, n=480, length=32, seed=0):
        self.rng = np.random.default_rng(seed)
        t = np.linspace(0, 1, length)
        freq = self.rng.uniform(1, 5, (n, 1))
        self.clean = np.sin(2 * np.pi * freq * t).astype(np.float32)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        noise = self.rng.normal(0, 0.5, self.clean.shape[1]).astype(np.float32)
        return self.clean[i] + noise, self.clean[i]


class Denoiser(nn.Module):
    def __init__(self, length=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(length, 64), nn.ReLU(), nn.Linear(64, length))

    def forward(self, x):
        return self.net(x)


def main():
    torch.manual_seed(0)
    loader = DataLoader(NoisyTones(), batch_size=24, shuffle=True, num_workers=2)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(4):
        total = 0.0
        for noisy, clean in loader:
            loss = nn.functional.mse_loss(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: mse {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
