"""Remove noise from small pictures with a convolutional autoencoder."""
import torch
import torch.nn as nn


class Denoiser(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, ch, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU())
        self.up = nn.Sequential(nn.ConvTranspose2d(ch, ch, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(ch, 1, 3, padding=1))

    def forward(self, x):
        return self.up(self.down(x))


def pictures(n):
    gy, gx = torch.meshgrid(torch.linspace(-1, 1, 12), torch.linspace(-1, 1, 12), indexing="ij")
    a = 6.28 * torch.rand(n, 1, 1, 1)
    edge = torch.tanh(6 * (gx * a.cos() + gy * a.sin() + 0.4 * torch.randn(n, 1, 1, 1)))
    return edge + 0.6 * torch.randn(n, 1, 12, 12), edge


torch.manual_seed(175)
model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
mse = nn.MSELoss()
for step in range(150):
    noisy, clean = pictures(32)
    loss = mse(model(noisy), clean)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(f"step {step:3d} mse {loss.item():.4f}")
noisy, clean = pictures(100)
with torch.no_grad():
    print(f"noise {mse(noisy, clean).item():.3f} -> {mse(model(noisy), clean).item():.3f}")
