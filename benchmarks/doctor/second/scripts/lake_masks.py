import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Lakes(Dataset):
    """Noisy aerial tiles with one round lake each, and the mask of the lake."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        r = torch.arange(16.0)
        cy, cx = 4 + 8 * torch.rand(2, n, 1, 1, generator=g)
        rad = 3 + 3 * torch.rand(n, 1, 1, generator=g)
        self.mask = (((r[:, None] - cy) ** 2 + (r - cx) ** 2) < rad**2).float()
        img = self.mask * 1.5 + torch.randn(n, 16, 16, generator=g)
        self.img = (img - img.mean()) / img.std()

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i][None], self.mask[i][None]


class TinyUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU())
        self.mid = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU(),
                                 nn.Upsample(scale_factor=2))
        self.up = nn.Sequential(nn.Conv2d(3 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 1, 1))

    def forward(self, x):
        d = self.down(x)
        return torch.sigmoid(self.up(torch.cat([d, self.mid(d)], dim=1)))


def iou(p, m):
    p, m = p > 0.5, m > 0.5
    return ((p & m).sum() / (p | m).sum().clamp(min=1)).item()


torch.manual_seed(2108)
train_loader = DataLoader(Lakes(320, 1), batch_size=16, shuffle=True)
test_loader = DataLoader(Lakes(64, 2), batch_size=64)
net = TinyUNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    net.train()
    for img, mask in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(img), mask)
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        score = sum(iou(net(i), m) for i, m in test_loader) / len(test_loader)
    print(f"epoch {epoch} loss {loss.item():.4f} iou {score:.3f}")
