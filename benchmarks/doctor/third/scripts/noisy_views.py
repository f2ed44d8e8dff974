"""Denoise signals; noise is drawn in the dataset."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, n, length=24, seed=0):
        self.rng = np.random.default_rng(seed)
        t = np.linspace(0, 6, length)
        self.clean = np.stack([np.sin(t * (1 + i % 5) + i) for i in range(n)]).astype(np.float32)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        clean = self.clean[i]
        noise = self.rng.normal(size=clean.shape).astype(np.float32)
        return torch.from_numpy(clean + 0.5 * noise), torch.from_numpy(clean)


def main():
    torch.manual_seed(181)
    loader = DataLoader(Noisy(320), batch_size=16, shuffle=True, num_workers=2)
    model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 24))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(3):
        total = 0.0
        for noisy, clean in loader:
            loss = nn.functional.mse_loss(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
