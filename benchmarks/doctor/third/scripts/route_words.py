"""Find which token comes first with a small transformer."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class FirstToken(nn.Module):
    def __init__(self, vocab=12, length=10, dim=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max(vocab, length), dim)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx, labels=None):
        x = self.tok(idx) + self.pos(idx)
        a, _ = self.attn(x, x, x, need_weights=False)
        logits = self.head(self.norm(x + a).mean(1))
        if labels is None:
            return logits
        return logits, F.cross_entropy(logits, labels)


def batch(n=64):
    idx = torch.stack([torch.randperm(12)[:10] for _ in range(n)])
    return idx, idx[:, 0]


torch.manual_seed(282)
model = FirstToken()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(120):
    idx, y = batch()
    _, loss = model(idx, labels=y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, f"{loss.item():.4f}")
