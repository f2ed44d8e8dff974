"""Sort numbers with a one-layer attention network."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHead(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.o = nn.Linear(dim, dim)

    def forward(self, x):
        B, T, C = x.shape
        q = self.q(x).view(B, T, self.heads, self.d).transpose(1, 2)
        k = self.k(x).view(B, T, self.heads, self.d).transpose(1, 2)
        v = self.v(x).view(B, T, self.heads, self.d).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.o(y.contiguous().view(B, T, C))


class Sorter(nn.Module):
    def __init__(self, vocab=10, dim=32, length=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(length, dim))
        self.attn = MultiHead(dim, 4)
        self.norm = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, vocab))

    def forward(self, x):
        h = self.embed(x) + self.pos
        h = h + self.attn(h)
        return self.ff(self.norm(h))


torch.manual_seed(91)
model = Sorter()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(120):
    x = torch.randint(0, 10, (64, 6))
    y = x.sort(dim=1).values
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, f"{loss.item():.4f}")
