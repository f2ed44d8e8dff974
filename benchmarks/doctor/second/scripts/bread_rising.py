"""Height of dough over time; evaluated with averaged weights."""
from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F


class Averaged:
    def __init__(self, model, decay=0.97):
        self.model, self.decay = model, decay
        self.mean = {k: p.detach().clone() for k, p in model.named_parameters()}

    @torch.no_grad()
    def update(self):
        for k, p in self.model.named_parameters():
            self.mean[k].mul_(self.decay).add_(p, alpha=1 - self.decay)

    @contextmanager
    def in_place(self):
        kept = {k: p.detach().clone() for k, p in self.model.named_parameters()}
        for k, p in self.model.named_parameters():
            p.data.copy_(self.mean[k])
        try:
            yield self.model
        finally:
            for k, p in self.model.named_parameters():
                p.data.copy_(kept[k])


class Dough(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(2, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.gru(x)[0]).squeeze(-1)


def bakes(n, length=16):
    warmth = torch.randn(n, length)
    yeast = torch.randn(n, 1).expand(n, length)
    height = torch.cumsum(0.5 * warmth + 0.15 * yeast, 1) / 1.5
    return torch.stack([warmth, yeast], -1), height + 0.05 * torch.randn(n, length)


torch.manual_seed(36)
x, h = bakes(600)
xt, ht = bakes(150)
model = Dough()
optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
average = Averaged(model)
for epoch in range(8):
    model.train()
    for idx in torch.randperm(len(x)).split(30):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x[idx]), h[idx])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average.update()
    model.eval()
    with torch.no_grad():
        raw = F.mse_loss(model(xt), ht).item()
        with average.in_place():
            smooth = F.mse_loss(model(xt), ht).item()
    print(f"epoch {epoch}: raw {raw:.4f} averaged {smooth:.4f}")
