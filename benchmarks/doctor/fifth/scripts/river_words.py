import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
VOCAB, DIM = 18, 32


class TiedLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        nn.init.normal_(self.embed.weight, std=DIM**-0.5)
        self.gru = nn.GRU(DIM, DIM, batch_first=True)
        self.out = nn.Linear(DIM, VOCAB, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, ids):
        h, _ = self.gru(self.embed(ids) * math.sqrt(DIM))
        return self.out(h)


def lines(n, length=16):
    start = torch.randint(0, VOCAB, (n, 1))
    stride = torch.randint(1, 4, (n, 1))
    return (start + stride * torch.arange(length)) % VOCAB


model = TiedLM()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
corpus = lines(1000)
for epoch in range(5):
    for batch in corpus[torch.randperm(len(corpus))].split(40):
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), batch[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f} of {math.log(VOCAB):.3f}")
