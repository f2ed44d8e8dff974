"""A long-sequence classifier with attention written out."""
import math

import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).reshape(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(C // self.heads)
        weights = scores.softmax(dim=-1)
        out = weights @ v
        return self.proj(out.transpose(1, 2).reshape(B, T, C))


class LongNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.inp = nn.Linear(2, dim)
        self.norm = nn.LayerNorm(dim)
        self.attn = SelfAttention(dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        h = self.inp(x)
        h = h + self.attn(self.norm(h))
        return self.out(h.mean(1))


def batch(n=6, length=256):
    y = torch.randint(0, 2, (n,))
    t = torch.linspace(0, 1, length).expand(n, length)
    wave = torch.sin(20 * t + 6 * torch.rand(n, 1)) * (1 + y[:, None]) + 0.3 * torch.randn(n, length)
    return torch.stack([t, wave], -1), y


torch.manual_seed(311)
model = LongNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(40):
    x, y = batch()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, f"{loss.item():.4f}")
