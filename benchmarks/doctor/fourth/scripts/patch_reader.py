import torch
import torch.nn as nn


class Attend(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.h, self.d = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.h, self.d).permute(2, 0, 3, 1, 4)
        attn = (q @ k.transpose(-1, -2)) * self.d**-0.5
        attn = attn.softmax(dim=-2)
        return self.out((attn @ v).transpose(1, 2).reshape(b, n, -1))


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.att = Attend(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.att(self.n1(x))
        return x + self.ff(self.n2(x))


class TinyViT(nn.Module):
    def __init__(self, dim=32, classes=4):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, 4, stride=4)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(0.02 * torch.randn(1, 10, dim))
        self.layers = nn.Sequential(Layer(dim), Layer(dim))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, img):
        x = self.patch(img).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.pos
        return self.head(self.norm(self.layers(x)[:, 0]))


torch.manual_seed(0)
y = torch.randint(0, 4, (1200,))
x = torch.randn(4, 1, 12, 12)[y] + 1.5 * torch.randn(1200, 1, 12, 12)
model = TinyViT()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(4):
    hits = 0
    for idx in torch.randperm(len(x)).split(40):
        logits = model(x[idx])
        loss = nn.functional.cross_entropy(logits, y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        hits += (logits.argmax(-1) == y[idx]).sum().item()
    print(epoch, round(hits / len(x), 3))
