"""Classify small point clouds: line, disc or ring."""
import torch
import torch.nn as nn


class SetEncoder(nn.Module):
    def __init__(self, width=32, classes=3):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.attend = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(width, classes)

    def forward(self, points):  # (B, N, 2), order of the points is irrelevant
        return self.head(self.attend(self.embed(points)).mean(1))


def clouds(n, points=16):
    kind = torch.randint(0, 3, (n,))
    a, u = 6.2832 * torch.rand(n, points), torch.rand(n, points)
    disc = torch.stack([u.sqrt() * a.cos(), u.sqrt() * a.sin()], -1) * 1.6
    ring = torch.stack([a.cos(), a.sin()], -1) * 1.3
    tilt = 6.2832 * torch.rand(n, 1)
    line = torch.stack([(4 * u - 2) * tilt.cos(), (4 * u - 2) * tilt.sin()], -1)
    cloud = torch.stack([line, disc, ring], 1)[torch.arange(n), kind]
    return cloud + 0.08 * torch.randn_like(cloud), kind


torch.manual_seed(149)
net = SetEncoder()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for step in range(150):
    x, y = clouds(48)
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step:3d} loss {loss.item():.3f}")
net.eval()
x, y = clouds(300)
with torch.no_grad():
    print("accuracy", (net(x).argmax(1) == y).float().mean().item())
