import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, image=8, patch=4, width=24, depth=12, classes=4):
        super().__init__()
        self.embed = nn.Conv2d(1, width, patch, patch)
        self.pos = nn.Parameter(0.02 * torch.randn(1, (image // patch) ** 2, width))
        self.blocks = nn.Sequential(*[Block(width, 2) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2) + self.pos
        return self.head(self.norm(self.blocks(x)).mean(1))


def icons(n):
    base = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    y = torch.randint(0, 4, (n,))
    return (base[y] + 0.8 * torch.randn(n, 1, 8, 8)) / 1.3, y


torch.manual_seed(170)
x, y = icons(320)
x_test, y_test = icons(120)
vit = ViT()
optimizer = torch.optim.Adam(vit.parameters(), lr=1e-3)
for epoch in range(4):
    vit.train()
    for idx in torch.randperm(320).split(32):
        optimizer.zero_grad()
        loss = F.cross_entropy(vit(x[idx]), y[idx])
        loss.backward()
        nn.utils.clip_grad_norm_(vit.parameters(), 1.0)
        optimizer.step()
    vit.eval()
    with torch.no_grad():
        acc = (vit(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} test {acc:.3f}")
