import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(6)
torch.manual_seed(6)
PAD, VOCAB, ACCUM = 0, 12, 4


class Scribe(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.out(self.gru(self.embed(ids))[0])


def scroll(length):
    first, stride = random.randrange(11), random.randrange(1, 4)
    return [1 + (first + stride * k) % 11 for k in range(length)]


def micro_batch(size=6):
    longest = random.choice([4, 40])
    rows = [scroll(random.randint(3, longest)) for _ in range(size)]
    width = max(map(len, rows))
    return torch.tensor([r + [PAD] * (width - len(r)) for r in rows])


model = Scribe()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(1, 61):
    optimizer.zero_grad()
    shown = 0.0
    for _ in range(ACCUM):
        ids = micro_batch()
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=PAD)
        (loss / ACCUM).backward()
        shown += loss.item() / ACCUM
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step}: loss {shown:.4f}")
