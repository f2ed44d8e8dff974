import math

import torch
import torch.nn as nn

torch.manual_seed(11)
VOCAB, LENGTH = 14, 20


class Fable(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(LENGTH, dim)
        self.q = nn.Linear(dim, dim, bias=False)
        self.k = nn.Linear(dim, dim, bias=False)
        self.v = nn.Linear(dim, dim, bias=False)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.out = nn.Linear(dim, VOCAB)
        mask = torch.full((LENGTH, LENGTH), float("-inf")).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, ids):
        t = ids.size(1)
        x = self.tok(ids) + self.pos.weight[:t]
        scores = self.q(x) @ self.k(x).mT / math.sqrt(x.size(-1)) + self.mask[:t, :t]
        x = x + scores.softmax(-1) @ self.v(x)
        return self.out(x + self.mlp(x))


def fables(n):
    rows = [torch.randint(0, VOCAB, (n,)), torch.randint(0, VOCAB, (n,))]
    for _ in range(LENGTH - 1):
        rows.append((rows[-1] + rows[-2] + (torch.rand(n) < 0.05)) % VOCAB)
    return torch.stack(rows, dim=1)[:, : LENGTH + 1]


data = fables(1000)
model = Fable()
opt = torch.optim.Adam(model.parameters(), lr=6e-3)
for epoch in range(8):
    for rows in data[torch.randperm(len(data))].split(25):
        logits = model(rows[:, :-1])
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), rows[:, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: loss {loss.item():.3f} (uniform {math.log(VOCAB):.3f})")
