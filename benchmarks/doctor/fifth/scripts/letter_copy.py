import random

import torch
import torch.nn as nn

random.seed(1)
torch.manual_seed(1)
PAD, BOS, EOS = 0, 1, 2
ALPHABET = list(range(3, 15))


def word():
    return [random.choice(ALPHABET) for _ in range(random.randint(2, 12))]


def pad(rows):
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(15, dim, padding_idx=PAD)
        self.gru = nn.GRU(dim, dim, batch_first=True)

    def forward(self, src, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(src), lengths, batch_first=True, enforce_sorted=False
        )
        return self.gru(packed)[1]


class Decoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(15, dim, padding_idx=PAD)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, 15)

    def forward(self, tokens, hidden):
        h, _ = self.gru(self.embed(tokens), hidden)
        return self.out(h)


encoder, decoder = Encoder(48), Decoder(48)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=4e-3)

for step in range(1, 161):
    words = [word() for _ in range(32)]
    src = pad(words)
    lengths = torch.tensor([len(w) for w in words])
    tgt = pad([[BOS, *w[::-1], EOS] for w in words])
    logits = decoder(tgt[:, :-1], encoder(src, lengths))
    loss = criterion(logits.flatten(0, 1), tgt[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
