"""Character model of rhymed nonsense."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

BLOCK, WIDTH, HEADS = 32, 48, 4


def verses(n, r):
    ends = {"moon": "spoon", "tree": "bee", "night": "light", "rain": "train"}
    out = []
    for _ in range(n):
        a = r.choice(list(ends))
        out.append(f"a {r.choice(['cat', 'fox', 'hen'])} {r.choice(['sees', 'finds', 'likes'])} the {a} and the {ends[a]}\n")
    return "".join(out)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, h):
        b, t, _ = h.shape
        q, k, v = (p.view(b, t, HEADS, -1).transpose(1, 2) for p in self.qkv(self.n1(h)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + self.proj(a.transpose(1, 2).reshape(b, t, WIDTH))
        return h + self.mlp(self.n2(h))


class Verse(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.layers = nn.Sequential(Layer(), Layer())
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, vocab))

    def forward(self, ids):
        return self.head(self.layers(self.tok(ids) + self.pos(torch.arange(ids.shape[1]))))


def batch(ids, n):
    at = torch.randint(0, len(ids) - BLOCK - 1, (n, 1)) + torch.arange(BLOCK + 1)
    return ids[at][:, :-1], ids[at][:, 1:]


torch.manual_seed(12)
text, later = verses(300, random.Random(1)), verses(60, random.Random(2))
chars = sorted(set(text))
train, held = (torch.tensor([chars.index(c) for c in t]) for t in (text, later))
model = Verse(len(chars))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(120):
    x, y = batch(train, 24)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 30 == 29:
        model.eval()
        with torch.no_grad():
            x, y = batch(held, 64)
            print(f"step {step}: train {loss.item():.3f} held {F.cross_entropy(model(x).flatten(0, 1), y.flatten()):.3f}")
        model.train()
