import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, patch=4, width=32, classes=2):
        super().__init__()
        self.embed = nn.Conv2d(1, width, patch, patch)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        tokens = self.embed(images).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(tokens)).mean(1))


def spots(n):
    """A bright square in the left (0) or right (1) half of a 16x16 image."""
    img = 0.3 * torch.randn(n, 1, 16, 16)
    y = torch.randint(0, 2, (n,))
    for i in range(n):
        r, c = torch.randint(0, 4, (1,)).item() * 4, (y[i] * 2 + torch.randint(0, 2, (1,))).item() * 4
        img[i, 0, r : r + 4, c : c + 4] += 2.0
    return (img - img.mean()) / img.std(), y


torch.manual_seed(89)
x, y = spots(640)
x_test, y_test = spots(100)
vit = ViT()
optimizer = torch.optim.Adam(vit.parameters(), lr=2e-3)
for epoch in range(8):
    for i in torch.randperm(640).split(32):
        optimizer.zero_grad()
        loss = F.cross_entropy(vit(x[i]), y[i])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, round(loss.item(), 3), (vit(x_test).argmax(1) == y_test).float().mean().item())
