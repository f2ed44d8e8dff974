import torch
import torch.nn as nn


class MiniUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU())
        self.down2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.last = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 1, 1))

    def forward(self, x):
        a = self.down1(x)
        b = self.up(self.down2(a))
        return torch.sigmoid(self.last(torch.cat([a, b], 1)))


def scans(n):
    grid = torch.arange(16).float()
    cx, cy = 4 + 8 * torch.rand(n, 1, 1), 4 + 8 * torch.rand(n, 1, 1)
    r = 2 + 2 * torch.rand(n, 1, 1)
    mask = ((grid[None, :, None] - cx) ** 2 + (grid[None, None] - cy) ** 2 < r**2).float().unsqueeze(1)
    return mask + 0.7 * torch.randn_like(mask), mask


def iou(p, m):
    p = p > 0.5
    m = m > 0.5
    return ((p & m).sum() / (p | m).sum().clamp(min=1)).item()


torch.manual_seed(0)
x, m = scans(500)
net = MiniUNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(4):
    for idx in torch.randperm(len(x)).split(20):
        out = net(x[idx])
        loss = criterion(out, m[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: loss {loss.item():.4f} iou {iou(out.detach(), m[idx]):.3f}")
