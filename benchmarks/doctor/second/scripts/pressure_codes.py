import math
import torch
from torch import nn


def pressure_curves(n):
    t = torch.linspace(0, 1, 40)
    level = torch.randn(n, 1)
    freq = 1 + 2 * torch.rand(n, 1)
    return (level * torch.sin(2 * math.pi * freq * t) + 0.05 * torch.randn(n, 40)) / 0.7


encoder_sizes, decoder_sizes = (40, 64, 4), (4, 64, 40)


def mlp(sizes):
    a, b, c = sizes
    return nn.Sequential(nn.Linear(a, b), nn.GELU(), nn.Linear(b, c))


class CodeTrainer:
    def __init__(self, lr=3e-3):
        self.encoder = mlp(encoder_sizes)
        self.decoder = mlp(decoder_sizes)
        self.enc_opt = torch.optim.Adam(self.encoder.parameters(), lr=lr)
        self.dec_opt = torch.optim.Adam(self.decoder.parameters(), lr=lr)

    def reconstruct(self, x):
        return self.decoder(self.encoder(x))

    def update(self, x):
        self.enc_opt.zero_grad()
        self.dec_opt.zero_grad()
        loss = nn.functional.mse_loss(self.reconstruct(x), x)
        loss.backward()
        self.enc_opt.step()
        return loss.item()


torch.manual_seed(2103)
trainer = CodeTrainer()
curves = pressure_curves(640)
held_out = pressure_curves(160)
for epoch in range(10):
    losses = [trainer.update(curves[i]) for i in torch.randperm(640).split(64)]
    print("epoch", epoch, "mse", round(sum(losses) / len(losses), 4))
with torch.no_grad():
    print("held out", nn.functional.mse_loss(trainer.reconstruct(held_out), held_out).item())
