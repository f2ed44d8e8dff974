"""A small causal language model with loss inside forward."""
import torch
import torch.nn as nn
import torch.nn.functional as F

CTX = 16


class Layer(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.register_buffer("keep", torch.ones(CTX, CTX, dtype=torch.bool).tril())

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.keep[:T, :T])
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.ff(self.norm2(x))


class Writer(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(CTX, dim)
        self.layers = nn.Sequential(Layer(dim), Layer(dim))
        self.head = nn.Linear(dim, vocab)

    def forward(self, input_ids, labels=None):
        x = self.tok(input_ids) + self.pos(torch.arange(input_ids.size(1)))
        logits = self.head(self.layers(x))
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return {"loss": loss, "logits": logits}


torch.manual_seed(74)
data = torch.cumsum(torch.randint(1, 3, (3000,)), 0) % 10
model = Writer(10)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(100):
    ix = torch.randint(0, len(data) - CTX, (16,))
    ids = torch.stack([data[i:i + CTX] for i in ix])
    out = model(input_ids=ids, labels=ids)
    optimizer.zero_grad(set_to_none=True)
    out["loss"].backward()
    optimizer.step()
    if step % 25 == 0:
        print(step, f"{out['loss'].item():.4f}")
