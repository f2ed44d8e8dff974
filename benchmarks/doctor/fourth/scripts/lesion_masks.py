import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1), nn.ReLU())
        self.low = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(3 * c, 1, 3, padding=1)

    def forward(self, x):
        a = self.enc(x)
        b = F.interpolate(self.low(a), scale_factor=2, mode="nearest")
        return self.out(torch.cat([a, b], 1))


def dice_loss(logits, mask, eps=1.0):
    p = logits.sigmoid().flatten(1)
    m = mask.flatten(1)
    return 1 - ((2 * (p * m).sum(1) + eps) / (p.sum(1) + m.sum(1) + eps)).mean()


def scans(n):
    grid = torch.arange(16).float()
    cx, cy = 4 + 8 * torch.rand(n, 1, 1), 4 + 8 * torch.rand(n, 1, 1)
    mask = ((grid[None, :, None] - cx) ** 2 + (grid[None, None] - cy) ** 2 < 9).float().unsqueeze(1)
    return mask + 0.7 * torch.randn_like(mask), mask


def main():
    torch.manual_seed(0)
    x, m = scans(500)
    xv, mv = scans(100)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(4):
        net.train()
        for idx in torch.randperm(len(x)).split(20):
            out = net(x[idx])
            loss = F.binary_cross_entropy_with_logits(out, m[idx]) + dice_loss(out, m[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            print(epoch, f"dice {1 - dice_loss(net(xv), mv):.3f}")


main()
