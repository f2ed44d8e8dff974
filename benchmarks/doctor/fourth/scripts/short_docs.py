import math

import torch
import torch.nn as nn

torch.manual_seed(21)
VOCAB, LENGTH, DIM = 40, 12, 32


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM, padding_idx=0)
        self.q = nn.Linear(DIM, DIM)
        self.k = nn.Linear(DIM, DIM)
        self.v = nn.Linear(DIM, DIM)
        self.out = nn.Linear(DIM, 2)

    def forward(self, tokens):
        pad = tokens.eq(0)
        h = self.emb(tokens)
        scores = self.q(h) @ self.k(h).transpose(1, 2) / math.sqrt(DIM)
        scores = scores.masked_fill(pad[:, None, :], float("-inf"))
        weights = scores.softmax(dim=-1)
        h = weights @ self.v(h)
        keep = (~pad).float().unsqueeze(-1)
        return self.out((h * keep).sum(1) / keep.sum(1).clamp(min=1))


def corpus(n):
    tokens = torch.randint(1, VOCAB, (n, LENGTH))
    lengths = torch.randint(0, LENGTH + 1, (n, 1))
    tokens[torch.arange(LENGTH)[None] >= lengths] = 0
    labels = (tokens.eq(7) | tokens.eq(9) | tokens.eq(12)).any(1).long()
    return tokens, labels


tokens, labels = corpus(2000)
model = Reader()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(3):
    for idx in torch.randperm(len(tokens)).split(50):
        loss = nn.functional.cross_entropy(model(tokens[idx]), labels[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
