import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, allowed):
        b, t, d = x.shape
        qkv = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        att = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        x = x + self.proj(att.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class Sonnet(nn.Module):
    def __init__(self, vocab=28, dim=32, length=20):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(length, dim)
        self.blocks = nn.ModuleList([Block(dim, 4) for _ in range(2)])
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab, bias=False)
        nn.init.normal_(self.tok.weight, std=0.05)
        self.out.weight = self.tok.weight
        self.register_buffer("allowed", torch.ones(length, length, dtype=torch.bool).tril())

    def forward(self, ids):
        t = ids.shape[1]
        h = self.tok(ids) + self.pos.weight[:t]
        for block in self.blocks:
            h = block(h, self.allowed[:t, :t])
        return self.out(self.norm(h))


torch.manual_seed(1)
start, stride = torch.randint(0, 28, (1200, 1)), torch.randint(1, 6, (1200, 1))
text = (start + stride * torch.arange(21)) % 28
model = Sonnet()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(3):
    for idx in torch.randperm(1200).split(40):
        loss = F.cross_entropy(model(text[idx, :-1]).flatten(0, 1), text[idx, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
