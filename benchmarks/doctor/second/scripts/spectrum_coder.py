import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class Coder(nn.Module):
    """Autoencoder whose decoder is the transpose of its encoder."""

    def __init__(self, channels=40, width=24, code=6):
        super().__init__()
        self.first = nn.Linear(channels, width)
        self.second = nn.Linear(width, code)
        self.bias2 = nn.Parameter(torch.zeros(width))
        self.bias1 = nn.Parameter(torch.zeros(channels))

    def encode(self, x):
        return self.second(F.elu(self.first(x)))

    def decode(self, z):
        h = F.elu(F.linear(z, self.second.weight.t(), self.bias2))
        return F.linear(h, self.first.weight.t(), self.bias1)

    def forward(self, x):
        return self.decode(self.encode(x))


def spectra(n):
    grid = torch.linspace(0, 1, 40)
    out = torch.zeros(n, 40)
    for centre in (0.2, 0.5, 0.75):
        out += torch.randn(n, 1) * torch.exp(-((grid - centre) / 0.1) ** 2)
    return out + 0.05 * torch.randn(n, 40)


def main():
    torch.manual_seed(19)
    data = spectra(1000)
    mean, std = data[:800].mean(0), data[:800].std(0)
    data = (data - mean) / std
    train = DataLoader(data[:800], batch_size=40, shuffle=True)
    test = data[800:]
    model = Coder()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(10):
        model.train()
        for x in train:
            loss = F.mse_loss(model(x), x)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch}: reconstruction error {F.mse_loss(model(test), test):.4f}")


main()
