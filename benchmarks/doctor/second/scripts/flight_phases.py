"""Label each second of a flight with its phase."""
import torch
from torch import nn
import torch.nn.functional as F


class SelfMix(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        return F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x))


class PhaseNet(nn.Module):
    def __init__(self, channels=4, dim=32, seconds=40, phases=3):
        super().__init__()
        self.embed = nn.Linear(channels, dim)
        self.pos = nn.Parameter(0.1 * torch.randn(seconds, dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mix = SelfMix(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.out = nn.Linear(dim, phases)

    def forward(self, x):
        h = self.embed(x) + self.pos
        h = h + self.mix(self.norm1(h))
        h = h + self.mlp(self.norm2(h))
        return self.out(h)


def flights(n, seconds=40):
    t = torch.arange(seconds)
    a = torch.randint(6, 16, (n, 1))
    b = torch.randint(24, 34, (n, 1))
    phase = (t >= a).long() + (t >= b).long()
    signal = torch.eye(3, 4)[phase] * 2 + torch.randn(n, seconds, 4)
    return signal / 1.3, phase


torch.manual_seed(2132)
model = PhaseNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
signal, phase = flights(400)
for epoch in range(5):
    for idx in torch.randperm(400).split(25):
        scores = model(signal[idx])
        loss = F.cross_entropy(scores.reshape(-1, 3), phase[idx].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
signal, phase = flights(100)
with torch.no_grad():
    print("accuracy", (model(signal).argmax(-1) == phase).float().mean().item())
