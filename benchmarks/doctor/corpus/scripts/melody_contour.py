import torch
from torch import nn
from torch.nn import functional as F


class Contour(nn.Module):
    """Expects (time, batch, channels), the default layout of nn.LSTM."""

    def __init__(self, channels=2, hidden=32, classes=3):
        super().__init__()
        self.lstm = nn.LSTM(channels, hidden)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[-1])


def melodies(n, T=14):
    """falling, flat or rising pitch"""
    y = torch.randint(0, 3, (n,))
    t = torch.linspace(-1, 1, T).view(T, 1)
    pitch = (y - 1).float() * t + 0.5 * torch.randn(T, n)
    return torch.stack([pitch, 0.5 * torch.randn(T, n)], dim=-1), y


torch.manual_seed(145)
x, y = melodies(480)
x_test, y_test = melodies(200)
f = Contour()
optim = torch.optim.Adam(f.parameters(), lr=1e-2)
for epoch in range(6):
    running = 0.0
    for cols in torch.randperm(480).split(40):
        optim.zero_grad()
        loss = F.cross_entropy(f(x[:, cols]), y[cols])
        loss.backward()
        optim.step()
        running += loss.item() / 12
    with torch.no_grad():
        acc = (f(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch}: loss {running:.3f}, test accuracy {acc:.2f}")
