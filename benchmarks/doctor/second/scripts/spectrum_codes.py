"""Compress spectra of 128 channels to a few numbers with a tanh autoencoder."""
import torch
from torch import nn


class SpectrumCoder(nn.Module):
    def __init__(self, channels=128, hidden=64, code=6):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(channels, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, code),
        )
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.Tanh(), nn.Linear(hidden, channels))
        for layer in (self.encoder[0], self.encoder[2]):
            nn.init.normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.decoder(self.encoder(x))


def spectra(n, lines):
    strength = torch.randn(n, len(lines))
    s = strength @ lines + 0.3 * torch.randn(n, lines.size(1))
    return s / s.std()


torch.manual_seed(2128)
channel = torch.arange(128.0)
centres = torch.linspace(10, 118, 6)[:, None]
lines = torch.exp(-((channel - centres) / 9) ** 2)
train, test = spectra(640, lines), spectra(160, lines)
model = SpectrumCoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    losses = []
    for idx in torch.randperm(len(train)).split(40):
        batch = train[idx]
        loss = nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch} mse {sum(losses) / len(losses):.4f}")
with torch.no_grad():
    print("test mse", nn.functional.mse_loss(model(test), test).item())
