"""Speed of meteors from noisy tracks, trained with accumulated batches."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def tracks(n, frames=10):
    velocity = torch.randn(n, 2)
    start = torch.randn(n, 1, 2)
    time = torch.linspace(-1, 1, frames)[None, :, None]
    path = start + velocity[:, None, :] * time + 0.1 * torch.randn(n, frames, 2)
    return path.flatten(1) / 1.15, velocity


class MeteorFit:
    def __init__(self, accumulate=2, lr=3e-3):
        self.model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.accumulate = accumulate
        self.clip = 1.0

    def epoch(self, loader):
        total = 0.0
        for i, (path, velocity) in enumerate(loader):
            loss = nn.functional.mse_loss(self.model(path), velocity)
            (loss / self.accumulate).backward()
            total += loss.item()
            if (i + 1) % self.accumulate == 0:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
                self.optimizer.zero_grad()
                self.optimizer.step()
        return total / len(loader)


torch.manual_seed(2143)
loader = DataLoader(TensorDataset(*tracks(640)), batch_size=32, shuffle=True)
fit = MeteorFit()
for epoch in range(6):
    print(f"epoch {epoch} mse {fit.epoch(loader):.4f}")
path, velocity = tracks(200)
with torch.no_grad():
    print("test mse", nn.functional.mse_loss(fit.model(path), velocity).item())
