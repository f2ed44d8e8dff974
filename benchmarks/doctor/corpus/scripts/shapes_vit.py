"""Train a small ViT on synthetic shapes."""
import torch
from torch import nn
from torch.nn import functional as F


class ViT(nn.Module):
    def __init__(self, image=12, patch=3, width=32, depth=2, heads=4, classes=3):
        super().__init__()
        self.patch = nn.Conv2d(1, width, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.pos = nn.Parameter(0.02 * torch.randn(1, (image // patch) ** 2 + 1, width))
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, 0.1, F.gelu, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        return self.head(self.encoder(x)[:, 0])


def shapes(n):
    y = torch.randint(0, 3, (n,))
    img = 0.4 * torch.randn(n, 1, 12, 12)
    for i, k in enumerate(y.tolist()):
        if k == 0:
            img[i, 0, 2:10, 5:7] += 2
        elif k == 1:
            img[i, 0, 5:7, 2:10] += 2
        else:
            img[i, 0, 3:9, 3:9] += 1
    return (img - img.mean()) / img.std(), y


def build_optimizer(model, lr, decay):
    weights = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    return torch.optim.AdamW([{"params": weights, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}], lr=lr)


torch.manual_seed(192)
train, test = shapes(384), shapes(120)
model = ViT()
optimizer = build_optimizer(model, 2e-3, 0.05)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=10)
for epoch in range(5):
    model.train()
    for idx in torch.randperm(384).split(32):
        loss = F.cross_entropy(model(train[0][idx]), train[1][idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warmup.step()
    model.eval()
    with torch.no_grad():
        acc = (model(test[0]).argmax(1) == test[1]).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.3f} accuracy {acc:.3f}")
