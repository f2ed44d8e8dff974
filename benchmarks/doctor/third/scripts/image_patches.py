"""A small ViT that cuts its patches by hand."""
import torch
import torch.nn as nn

torch.manual_seed(93)
shapes = torch.randn(4, 3, 12, 12)


def images(n=32):
    y = torch.randint(0, 4, (n,))
    return shapes[y] + torch.randn(n, 3, 12, 12), y


class ViT(nn.Module):
    def __init__(self, patch=4, dim=48, classes=4):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(3 * patch * patch, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(0.02 * torch.randn(1, 10, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, classes))

    def forward(self, img):
        B, C, H, W = img.shape
        p = self.patch
        x = img.view(B, C, H // p, p, W // p, p)
        x = x.permute(0, 2, 4, 1, 3, 5).contiguous().view(B, -1, C * p * p)
        x = self.embed(x)
        x = torch.cat([self.cls.expand(B, -1, -1), x], dim=1) + self.pos
        return self.head(self.encoder(x)[:, 0])


model = ViT()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
for step in range(80):
    x, y = images()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, f"{loss.item():.4f}")
