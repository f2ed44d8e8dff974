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
        attn = torch.softmax(q @ k.mT * self.d**-0.5, dim=-1)
        return self.out((attn @ v).transpose(1, 2).reshape(b, n, -1))


class Layer(nn.Module):
    def __init__(self, dim, drop=0.1):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.att = Attend(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(drop), nn.Linear(2 * dim, dim))

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


def groups(model, decay):
    with_decay = [p for n, p in model.named_parameters() if p.ndim >= 2 and "pos" not in n and "cls" not in n]
    ids = {id(p) for p in with_decay}
    rest = [p for p in model.parameters() if id(p) not in ids]
    return [{"params": with_decay, "weight_decay": decay}, {"params": rest, "weight_decay": 0.0}]


torch.manual_seed(0)
y = torch.randint(0, 4, (1500,))
x = torch.randn(4, 1, 12, 12)[y] + 1.5 * torch.randn(1500, 1, 12, 12)
model = TinyViT()
opt = torch.optim.AdamW(groups(model, 0.05), lr=1e-3)
epochs, size = 4, 40
steps = epochs * (1200 // size)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min((s + 1) / 20, (steps - s) / (steps - 20)))
for epoch in range(epochs):
    model.train()
    for idx in torch.randperm(1200).split(size):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    model.eval()
    with torch.no_grad():
        print(epoch, f"{(model(x[1200:]).argmax(-1) == y[1200:]).float().mean():.3f}")
