"""Next-token model with hand-written attention: x[t] = (x[t-1] + x[t-2]) mod 11."""
import math

import torch
from torch import nn

MOD, T = 11, 12


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.register_buffer("mask", torch.triu(torch.ones(T, T)))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(x).chunk(3, dim=-1))
        att = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        att = att.masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        y = att.softmax(dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, t, c))


class Model(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.emb = nn.Embedding(MOD, width)
        self.pos = nn.Parameter(0.1 * torch.randn(T, width))
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = SelfAttention(width, 4)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.head = nn.Linear(width, MOD)

    def forward(self, idx):
        x = self.emb(idx) + self.pos[: idx.shape[1]]
        x = x + self.attn(self.n1(x))
        return self.head(x + self.mlp(self.n2(x)))


def batch(n):
    seq = torch.randint(0, MOD, (n, T + 1))
    for t in range(2, T + 1):
        seq[:, t] = (seq[:, t - 1] + seq[:, t - 2]) % MOD
    return seq[:, :-1], seq[:, 1:]


torch.manual_seed(86)
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for i in range(150):
    x, y = batch(32)
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 30 == 0:
        print(i, round(loss.item(), 3))
