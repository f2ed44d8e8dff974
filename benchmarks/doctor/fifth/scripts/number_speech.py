import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(7)
torch.manual_seed(7)
BOS, VOCAB, LENGTH = 10, 11, 5


class Seq2Seq(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, src, tgt, forcing):
        _, h = self.encoder(self.embed(src))
        h = h[0]
        token = torch.full((len(src),), BOS)
        outputs = []
        for t in range(tgt.shape[1]):
            h = self.decoder(self.embed(token), h)
            logits = self.out(h)
            outputs.append(logits)
            token = tgt[:, t] if forcing else logits.argmax(1)
        return torch.stack(outputs, dim=1)


def batch(n=40):
    src = torch.randint(0, 10, (n, LENGTH))
    return src, src.flip(1)


model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(1, 301):
    src, tgt = batch()
    logits = model(src, tgt, forcing=random.random() < 0.5)
    loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 60 == 0:
        with torch.no_grad():
            src, tgt = batch(200)
            right = (model(src, tgt, False).argmax(-1) == tgt).float().mean()
        print(f"step {step}: loss {loss.item():.3f} free-running accuracy {right:.3f}")
