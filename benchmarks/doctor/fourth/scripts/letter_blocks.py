import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).chunk(3, -1)
        q, k, v = (z.view(b, t, self.heads, d // self.heads).transpose(1, 2) for z in (q, k, v))
        att = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.proj(att.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class Letters(nn.Module):
    def __init__(self, vocab=28, dim=32, length=20):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos = nn.Embedding(length, dim)
        self.blocks = nn.ModuleList([Block(dim, 4), Block(dim, 4)])
        self.out = nn.Linear(dim, 2)

    def forward(self, ids):
        pad = ids.eq(0)
        mask = pad[:, None, None, :]
        h = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for block in self.blocks:
            h = block(h, mask)
        keep = (~pad).float().unsqueeze(-1)
        return self.out((h * keep).sum(1) / keep.sum(1))


def letters(n, length=20):
    ids = torch.randint(1, 28, (n, length))
    sizes = torch.randint(5, length, (n, 1))
    ids[torch.arange(length) >= sizes] = 0
    twice = (ids[:, 1:] == ids[:, :-1]) & (ids[:, 1:] != 0)
    return ids, twice.any(1).long()


torch.manual_seed(1)
ids, label = letters(1600)
model = Letters()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(3):
    hits = 0
    for idx in torch.randperm(1600).split(40):
        logits = model(ids[idx])
        loss = F.cross_entropy(logits, label[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        hits += (logits.argmax(1) == label[idx]).sum().item()
    print(f"epoch {epoch}: {loss.item():.4f} {hits / 1600:.3f}")
