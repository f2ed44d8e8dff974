import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Murmurs(Dataset):
    def __init__(self, n=512, length=32):
        g = torch.Generator().manual_seed(1)
        t = torch.arange(length) * 0.3
        self.clean = torch.sin(t + 6.28 * torch.rand(n, 1, generator=g))

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        clean = self.clean[i]
        delay = int(torch.randint(1, 8, ()))
        strength = 0.1 + 0.5 * torch.rand(())
        return clean + strength * clean.roll(delay) + 0.2 * torch.randn(32), clean


def train(epochs=3):
    loader = DataLoader(Murmurs(), batch_size=32, shuffle=True, num_workers=2, persistent_workers=True)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        total = 0.0
        for noisy, clean in loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(noisy), clean)
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train()
