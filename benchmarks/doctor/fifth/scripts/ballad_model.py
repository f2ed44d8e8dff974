import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)
VOCAB = 16


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        t = x.size(1)
        blocked = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=2)
        h = self.norm1(x)
        x = x + self.attn(h, h, h, attn_mask=blocked, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class VerseModel(nn.Module):
    def __init__(self, dim=32, heads=4, depth=2, longest=24):
        super().__init__()
        self.token = nn.Embedding(VOCAB, dim)
        self.place = nn.Embedding(longest, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        x = self.token(ids) + self.place(torch.arange(ids.size(1)))
        for block in self.blocks:
            x = block(x)
        return self.out(self.norm(x))


transition = torch.softmax(2.0 * torch.randn(VOCAB, VOCAB), dim=1)


def verses(n, length=17):
    out = [torch.randint(0, VOCAB, (n,))]
    for _ in range(length - 1):
        out.append(torch.multinomial(transition[out[-1]], 1).squeeze(1))
    return torch.stack(out, dim=1)


corpus = verses(800)
model = VerseModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(4):
    for batch in corpus[torch.randperm(len(corpus))].split(40):
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), batch[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
