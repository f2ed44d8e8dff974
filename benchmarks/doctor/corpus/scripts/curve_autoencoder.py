# compress short pulses to three numbers and back
import torch
from torch import nn

torch.manual_seed(7)
t = torch.linspace(-1, 1, 32)


def pulses(n):
    center = torch.rand(n, 1) * 1.2 - 0.6
    width = 0.1 + 0.2 * torch.rand(n, 1)
    sign = torch.randint(0, 2, (n, 1)) * 2.0 - 1
    return 2 * sign * torch.exp(-(((t - center) / width) ** 2))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 3))

    def forward(self, x):
        return self.layers(x)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 32))

    def forward(self, z):
        return self.layers(z)


enc, dec = Encoder(), Decoder()
optimizer = torch.optim.Adam(dec.parameters(), lr=3e-3)
mse = nn.MSELoss()
for step in range(400):
    x = pulses(64)
    optimizer.zero_grad()
    loss = mse(dec(enc(x)), x)
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: mse {loss.item():.4f}")
with torch.no_grad():
    x = pulses(200)
    print(f"final mse {mse(dec(enc(x)), x).item():.4f}")
