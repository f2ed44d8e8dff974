import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.inp = nn.Linear(4, width)
        self.pos = nn.Parameter(0.5 * torch.randn(1, 10, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(width, 3)

    def forward(self, x):
        return self.out(self.layers(self.inp(x) + self.pos).mean(1))


def data(n):
    """which third of the window holds the pulse"""
    y = torch.randint(0, 3, (n,))
    x = 0.5 * torch.randn(n, 10, 4)
    x[torch.arange(n), 3 * y + torch.randint(0, 3, (n,))] += 2.5
    return x, y


def schedule(step, warmup=20, total=160):
    if step < warmup:
        return step / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


torch.manual_seed(127)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
x, y = data(640)
x_test, y_test = data(200)
for epoch in range(8):
    model.train()
    for idx in torch.randperm(640).split(32):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    model.eval()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.3f} acc {acc:.2f} lr {scheduler.get_last_lr()[0]:.5f}")
