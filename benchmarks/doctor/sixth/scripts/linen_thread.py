"""Tiny language model with one matrix for input and output."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, block):
        super().__init__()
        self.key = nn.Linear(width, width, bias=False)
        self.query = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block, block)))

    def forward(self, x):
        T = x.shape[1]
        weights = self.query(x) @ self.key(x).transpose(-2, -1) * x.shape[-1] ** -0.5
        weights = weights.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return F.softmax(weights, dim=-1) @ self.value(x)


class Thread(nn.Module):
    def __init__(self, vocab=24, width=32, block=16):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(block, width)
        self.attn = Attention(width, block)
        self.ln1, self.ln2, self.ln_f = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.lm_head = nn.Linear(width, vocab, bias=False)
        self.lm_head.weight = self.wte.weight
        nn.init.normal_(self.wte.weight, std=0.1)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return self.lm_head(self.ln_f(x))


def get_batch(data, block=16, size=16):
    ix = torch.randint(len(data) - block, (size,))
    x = torch.stack([data[i : i + block] for i in ix])
    y = torch.stack([data[i + 1 : i + block + 1] for i in ix])
    return x, y


torch.manual_seed(1)
data = [0]
for _ in range(3000):
    data.append((data[-1] * 5 + 3 + int(torch.rand(()) < 0.2)) % 24)
data = torch.tensor(data)
train_data, val_data = data[:2400], data[2400:]
model = Thread()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(200):
    x, y = get_batch(train_data)
    logits = model(x)
    loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), y.view(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        model.eval()
        with torch.no_grad():
            x, y = get_batch(val_data, size=32)
            val = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
        model.train()
        print(f"step {step + 1}: train {loss.item():.3f} val {val:.3f}")
