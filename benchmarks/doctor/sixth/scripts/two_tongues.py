"""Reverse a sequence of digits with an encoder and a decoder."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

PAD, BOS, EOS, VOCAB = 0, 1, 2, 11


def pairs(n):
    source, target = [], []
    for _ in range(n):
        s = torch.randint(3, VOCAB, (int(torch.randint(2, 6, ())),))
        source.append(s)
        target.append(torch.cat([torch.tensor([BOS]), s.flip(0), torch.tensor([EOS])]))
    lengths = torch.tensor([len(s) for s in source])
    return (
        pad_sequence(source, batch_first=True, padding_value=PAD),
        lengths,
        pad_sequence(target, batch_first=True, padding_value=PAD),
    )


class Seq2Seq(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 24, padding_idx=PAD)
        self.encoder = nn.GRU(24, width, batch_first=True)
        self.decoder = nn.GRU(24, width, batch_first=True)
        self.out = nn.Linear(width, VOCAB)

    def forward(self, source, lengths, target_in):
        packed = pack_padded_sequence(self.embed(source), lengths, batch_first=True, enforce_sorted=False)
        _, state = self.encoder(packed)
        hidden, _ = self.decoder(self.embed(target_in), state)
        return self.out(hidden)


def main():
    torch.manual_seed(0)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    for step in range(160):
        source, lengths, target = pairs(32)
        scores = model(source, lengths, target[:, :-1])
        loss = criterion(scores.reshape(-1, VOCAB), target[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 40 == 39:
            print(f"step {step + 1} loss {loss.item():.4f}")


main()
