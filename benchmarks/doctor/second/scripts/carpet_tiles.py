import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.att = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.n1(x)
        x = x + self.att(h, h, h, need_weights=False)[0]
        return x + self.ff(self.n2(x))


class CarpetViT(nn.Module):
    def __init__(self, dim=32, classes=4):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, 4, stride=4)
        self.pos = nn.Parameter(0.02 * torch.randn(1, 16, dim))
        self.blocks = nn.Sequential(Block(dim), Block(dim))
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, classes))

    def forward(self, img):
        x = self.patch(img).flatten(2).transpose(1, 2) + self.pos
        return self.head(self.blocks(x).mean(1))


def carpets(n):
    y = torch.randint(0, 4, (n,))
    i = torch.arange(16)
    rows = torch.sin(i * 1.3)[:, None].expand(16, 16)
    motifs = torch.stack([rows, rows.T, torch.sin(i * 1.3)[:, None] * torch.sin(i * 1.3),
                          torch.sin((i[:, None] + i) * 1.0)])
    return (1.2 * motifs[y] + torch.randn(n, 16, 16)).unsqueeze(1) / 1.25, y


def param_groups(model, lr):
    return [
        {"params": model.blocks.parameters(), "lr": lr},
        {"params": model.head.parameters(), "lr": 2 * lr},
    ]


torch.manual_seed(2116)
model = CarpetViT()
optimizer = torch.optim.Adam(param_groups(model, 1e-3))
img, label = carpets(480)
for epoch in range(5):
    model.train()
    for idx in torch.randperm(480).split(40):
        loss = nn.functional.cross_entropy(model(img[idx]), label[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
model.eval()
img, label = carpets(200)
with torch.no_grad():
    print("accuracy", (model(img).argmax(1) == label).float().mean().item())
