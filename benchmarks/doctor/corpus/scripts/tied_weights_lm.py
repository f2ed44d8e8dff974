import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, CONTEXT, WIDTH = 17, 14, 48


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 128), nn.GELU(), nn.Linear(128, WIDTH))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, WIDTH)
        self.wpe = nn.Embedding(CONTEXT, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(layers))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.lm_head = nn.Linear(WIDTH, VOCAB, bias=False)
        nn.init.normal_(self.wte.weight, std=0.05)
        nn.init.normal_(self.wpe.weight, std=0.05)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx):
        t = idx.shape[1]
        mask = torch.ones(t, t, dtype=torch.bool).triu(1)  # True = not allowed
        x = self.wte(idx) + self.wpe(torch.arange(t))
        for block in self.h:
            x = block(x, mask)
        return self.lm_head(self.ln_f(x))


def batch(n):
    """count upwards by a step that has to be read from the first two tokens"""
    start, step = torch.randint(0, VOCAB, (n, 1)), torch.randint(1, 4, (n, 1))
    seq = (start + step * torch.arange(CONTEXT + 1)) % VOCAB
    return seq[:, :-1], seq[:, 1:]


torch.manual_seed(118)
model = GPT()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for it in range(120):
    x, y = batch(32)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if it % 30 == 0:
        print(f"iter {it}: loss {loss.item():.3f}")
x, y = batch(200)
with torch.no_grad():
    print("accuracy after the third token", (model(x).argmax(-1) == y)[:, 2:].float().mean().item())
