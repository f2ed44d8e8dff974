"""Cloud segmentation with a small U-Net, autocast and a gradient scaler."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(38)


def skies(n, size=16):
    g = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    mask = torch.zeros(n, size, size, dtype=torch.bool)
    for _ in range(2):
        c = torch.rand(2, n, 1, 1) * 1.4 - 0.7
        r = 0.2 + 0.3 * torch.rand(n, 1, 1)
        mask |= (xx - c[0]) ** 2 + (yy - c[1]) ** 2 < r**2
    picture = 1.6 * mask.float() - 0.5 + 0.5 * yy + 0.6 * torch.randn(n, size, size)
    return picture.unsqueeze(1), mask.float()


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2 = conv(1, 12), conv(12, 24)
        self.u1 = conv(36, 12)
        self.out = nn.Conv2d(12, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = F.interpolate(self.d2(F.max_pool2d(a, 2)), scale_factor=2)
        return self.out(self.u1(torch.cat([a, b], 1))).squeeze(1)


def dice_loss(logits, mask):
    p = logits.sigmoid()
    return 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)


x, m = skies(256)
xt, mt = skies(96)
net = UNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
scaler = torch.amp.GradScaler("cpu")
for epoch in range(3):
    net.train()
    for idx in torch.randperm(len(x)).split(32):
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = net(x[idx])
        logits = logits.float()
        loss = F.binary_cross_entropy_with_logits(logits, m[idx]) + dice_loss(logits, m[idx])
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        scaler.step(opt)
        scaler.update()
    net.eval()
    with torch.no_grad():
        hit = ((net(xt) > 0) == (mt > 0.5)).float().mean()
    print(f"epoch {epoch}: loss {loss.item():.3f} pixel accuracy {hit:.3f}")
