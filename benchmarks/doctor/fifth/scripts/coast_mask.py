import torch
from torch import nn

torch.manual_seed(37)


class CoastNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
        self.top = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        return self.top(self.down(x))


def coasts(n, size=16):
    axis = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    a, b = torch.randn(2, n, 1, 1)
    land = (yy + 0.5 * torch.sin(3 * xx + a) > 0.4 * b).float()
    return (land + 0.5 * torch.randn(n, size, size)).unsqueeze(1), land.unsqueeze(1)


def dice_loss(logits, mask, eps=1.0):
    guess = torch.sigmoid(logits).round()
    inter = (guess * mask).sum((1, 2, 3))
    union = guess.sum((1, 2, 3)) + mask.sum((1, 2, 3))
    return 1 - ((2 * inter + eps) / (union + eps)).mean()


x, m = coasts(400)
xv, mv = coasts(80)
net = CoastNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    net.train()
    for idx in torch.randperm(len(x)).split(20):
        loss = dice_loss(net(x[idx]), m[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        pixel = ((net(xv) > 0) == mv.bool()).float().mean()
    print(f"epoch {epoch}: dice loss {loss.item():.4f} pixel accuracy {pixel:.3f}")
