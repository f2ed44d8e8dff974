import torch
import torch.nn as nn


class ViT(nn.Module):
    def __init__(self, side=16, patch=4, width=32, depth=2, heads=4, classes=4):
        super().__init__()
        n = (side // patch) ** 2
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.pos = nn.Parameter(torch.randn(1, n + 1, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        return self.head(self.norm(self.encoder(x))[:, 0])


def floors(n):
    y = torch.randint(0, 4, (n,))
    x = 0.4 * torch.randn(n, 3, 16, 16)
    for i, c in enumerate(y.tolist()):
        x[i, c % 3, 8 * (c // 2) : 8 * (c // 2) + 8] += 0.7
    return x, y


def groups(model, decay):
    yes = [p for p in model.parameters() if p.ndim >= 2]
    no = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": yes, "weight_decay": decay}, {"params": no, "weight_decay": 0.0}]


torch.manual_seed(0)
model = ViT()
optimizer = torch.optim.AdamW(groups(model, 0.05), lr=1e-3)
x, y = floors(384)
x_val, y_val = floors(96)
for epoch in range(5):
    model.train()
    for rows in torch.randperm(384).split(24):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(x_val).argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {acc:.3f}")
