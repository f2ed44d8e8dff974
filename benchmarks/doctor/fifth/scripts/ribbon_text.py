import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(1)
torch.manual_seed(17)
PAD, VOCAB = 0, 12


class Ribbon(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.out(self.gru(self.embed(ids))[0])


def ribbon(length):
    first, stride = random.randrange(11), random.randrange(1, 3)
    return [1 + (first + stride * k) % 11 for k in range(length)]


def micro_batch(size=8):
    rows = [ribbon(random.randint(4, 20)) for _ in range(size)]
    width = max(map(len, rows))
    return torch.tensor([r + [PAD] * (width - len(r)) for r in rows])


model = Ribbon()
optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
for step in range(1, 81):
    group = [micro_batch() for _ in range(3)]
    tokens = sum(int((ids[:, 1:] != PAD).sum()) for ids in group)
    optimizer.zero_grad()
    shown = 0.0
    for ids in group:
        logits = model(ids[:, :-1]).flatten(0, 1)
        loss = F.cross_entropy(logits, ids[:, 1:].flatten(), ignore_index=PAD, reduction="sum") / tokens
        loss.backward()
        shown += loss.item()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss per token {shown:.4f}")
