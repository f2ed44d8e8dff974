import torch
import torch.nn as nn
import torch.nn.functional as F


class MiniViT(nn.Module):
    def __init__(self, image=12, patch=4, width=32, heads=4, depth=2, classes=4):
        super().__init__()
        n = (image // patch) ** 2
        self.to_patches = nn.Conv2d(1, width, patch, stride=patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.pos = nn.Parameter(torch.randn(1, n + 1, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth)
        self.head = nn.Linear(width, classes)

    def forward(self, img):
        x = self.to_patches(img).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.pos
        x = self.encoder(x)[:, 0]
        return F.softmax(self.head(x), dim=-1)


def quadrants(n):
    y = torch.randint(0, 4, (n,))
    img = 0.8 * torch.randn(n, 1, 12, 12)
    for i, q in enumerate(y.tolist()):
        r, c = 6 * (q // 2), 6 * (q % 2)
        img[i, 0, r : r + 6, c : c + 6] += 1.2
    return (img - img.mean()) / img.std(), y


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        acc = (model(x).argmax(-1) == y).float().mean().item()
    model.train()
    return acc


torch.manual_seed(51)
x, y = quadrants(384)
x_test, y_test = quadrants(128)
vit = MiniViT()
optimizer = torch.optim.Adam(vit.parameters(), lr=2e-3)
for epoch in range(6):
    for idx in torch.randperm(len(x)).split(32):
        loss = F.cross_entropy(vit(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f} acc {evaluate(vit, x_test, y_test):.2f}")
