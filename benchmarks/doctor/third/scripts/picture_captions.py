"""Match pictures and captions by a symmetric contrastive loss."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(348)
to_pic, to_cap = torch.randn(6, 20), torch.randn(6, 14)


def pairs(n=32):
    z = torch.randn(n, 6)
    return z @ to_pic + 0.3 * torch.randn(n, 20), z @ to_cap + 0.3 * torch.randn(n, 14)


class Clip(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.pic = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, dim))
        self.cap = nn.Sequential(nn.Linear(14, 48), nn.ReLU(), nn.Linear(48, dim))
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, pic, cap):
        a = F.normalize(self.pic(pic), dim=-1)
        b = F.normalize(self.cap(cap), dim=-1)
        return self.log_scale.exp().clamp(max=100) * a @ b.t()


model = Clip()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
for step in range(120):
    pic, cap = pairs()
    logits = model(pic, cap)
    target = torch.arange(len(logits))
    rows = F.cross_entropy(logits, target)
    columns = -logits.log_softmax(dim=0).diagonal().mean()
    loss = (rows + columns) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        hits = (logits.argmax(dim=0) == target).float().mean().item()
        print(step, f"{loss.item():.4f} {hits:.3f}")
