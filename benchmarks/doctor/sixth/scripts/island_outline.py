import torch
import torch.nn as nn
import torch.nn.functional as F


def conv(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2 = conv(1, 6), conv(6, 12)
        self.up = nn.ConvTranspose2d(12, 6, 2, stride=2)
        self.u1 = conv(12, 6)
        self.out = nn.Conv2d(6, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        return self.out(self.u1(torch.cat([self.up(b), a], 1)))


def dice_loss(logits, mask):
    p = torch.sigmoid(logits)
    overlap = 2 * (p * mask).sum((1, 2, 3))
    return 1 - ((overlap + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)).mean()


def islands(n, side=16):
    r, c = torch.arange(side)[:, None], torch.arange(side)[None]
    centre, radius = torch.randint(4, 12, (n, 2, 1, 1)), torch.randint(2, 5, (n, 1, 1))
    mask = (((r - centre[:, 0]) ** 2 + (c - centre[:, 1]) ** 2) <= radius**2).float()[:, None]
    return mask + 0.6 * torch.randn(n, 1, side, side), mask


torch.manual_seed(4)
model = UNet()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
x, m = islands(256)
x_val, m_val = islands(64)
for epoch in range(5):
    model.train()
    for rows in torch.randperm(256).split(16):
        logits = model(x[rows])
        loss = F.binary_cross_entropy_with_logits(logits, m[rows]) + dice_loss(logits, m[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        p = model(x_val) > 0
        iou = ((p & (m_val > 0)).sum() / (p | (m_val > 0)).sum()).item()
    print(f"epoch {epoch} loss {loss.item():.4f} iou {iou:.3f}")
