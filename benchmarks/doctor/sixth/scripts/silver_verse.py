"""Character model on an invented alphabet (loss inside forward)."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, BLOCK, WIDTH = 20, 16, 32


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("visible", torch.triu(torch.ones(BLOCK, BLOCK)))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, 4, C // 4).permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-2, -1) / math.sqrt(C // 4)
        att = att.masked_fill(self.visible[:T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Poet(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, WIDTH)
        self.pos = nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.ln = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        logits = self.head(self.ln(self.blocks(x)))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))
        return logits, loss


def poem(n):
    table = torch.softmax(2.0 * torch.randn(VOCAB, VOCAB), 1)
    out = [0]
    for _ in range(n - 1):
        out.append(torch.multinomial(table[out[-1]], 1).item())
    return torch.tensor(out)


torch.manual_seed(1337)
data = poem(4000)
model = Poet()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(150):
    starts = torch.randint(0, len(data) - BLOCK - 1, (16,))
    xb = torch.stack([data[i : i + BLOCK] for i in starts])
    yb = torch.stack([data[i + 1 : i + 1 + BLOCK] for i in starts])
    _, loss = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step}: {loss.item():.4f}")
