"""Detect bearing faults from vibration windows with a GRU."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class FaultDetector(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.gru = nn.GRU(2, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 3)

    def forward(self, window):
        _, last = self.gru(window)
        h = nn.Dropout(0.4)(last[0])
        return self.out(h)


def vibrations(n, length=24):
    fault = torch.randint(0, 3, (n,))
    t = torch.arange(length).float()
    base = torch.sin(0.5 * t + 6.28 * torch.rand(n, 1))
    fast = torch.sin(2.2 * t + 6.28 * torch.rand(n, 1)) * (fault == 1).float().unsqueeze(1)
    knock = 2.0 * (t % 8 == 0) * (fault == 2).float().unsqueeze(1)
    return torch.stack([base + fast, base + knock], -1) + 0.1 * torch.randn(n, length, 2), fault


class Runner:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def fit(self, loader, test_x, test_y, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in loader:
                loss = nn.functional.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(f"epoch {epoch} loss {loss.item():.3f} accuracy {self.accuracy(test_x, test_y):.3f}")

    @torch.inference_mode()
    def accuracy(self, x, y):
        self.model.eval()
        return (self.model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(82)
Runner(FaultDetector()).fit(
    DataLoader(TensorDataset(*vibrations(480)), batch_size=40, shuffle=True), *vibrations(200), epochs=10
)
