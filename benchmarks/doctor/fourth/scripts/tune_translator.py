import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

PAD, BOS, EOS, VOCAB = 0, 1, 2, 16


class Seq2Seq(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.enc = nn.GRU(dim, dim, batch_first=True)
        self.cell = nn.GRUCell(2 * dim, dim)
        self.out = nn.Linear(2 * dim, VOCAB)

    def attend(self, state, memory, valid):
        score = torch.einsum("bd,btd->bt", state, memory)
        weight = score.masked_fill(~valid, -1e9).softmax(1)
        return torch.einsum("bt,btd->bd", weight, memory)

    def forward(self, src, tgt, force=0.8):
        valid = src != PAD
        memory, last = self.enc(self.emb(src))
        state, token, steps = last[0], torch.full((len(src),), BOS), []
        for t in range(tgt.shape[1]):
            context = self.attend(state, memory, valid)
            state = self.cell(torch.cat([self.emb(token), context], 1), state)
            logits = self.out(torch.cat([state, context], 1))
            steps.append(logits)
            token = tgt[:, t] if random.random() < force else logits.argmax(1)
        return torch.stack(steps, 1)


def pairs(n):
    rows = []
    for _ in range(n):
        src = torch.randint(3, VOCAB, (random.randint(2, 6),))
        rows.append((src, torch.cat([src.flip(0), torch.tensor([EOS])])))
    return rows


random.seed(0)
torch.manual_seed(0)
rows = pairs(1200)
model = Seq2Seq()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(4):
    random.shuffle(rows)
    total = 0.0
    for i in range(0, len(rows), 40):
        src = pad_sequence([s for s, _ in rows[i : i + 40]], batch_first=True, padding_value=PAD)
        tgt = pad_sequence([t for _, t in rows[i : i + 40]], batch_first=True, padding_value=PAD)
        logits = model(src, tgt)
        loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / 30:.4f}")
