"""Copy a sequence with an encoder-decoder and teacher forcing."""
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS = 0, 1, 2
VOCAB = 20
torch.manual_seed(43)


def make_batch(n=32, longest=10):
    src = torch.full((n, longest), PAD)
    tgt = torch.full((n, longest + 2), PAD)
    for i in range(n):
        k = int(torch.randint(2, longest + 1, (1,)))
        words = torch.randint(3, VOCAB, (k,))
        src[i, :k] = words
        tgt[i, :k + 2] = torch.cat([torch.tensor([BOS]), words, torch.tensor([EOS])])
    return src, tgt


class Seq2Seq(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, src, tgt):
        lengths = (src != PAD).sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(src), lengths, batch_first=True, enforce_sorted=False)
        _, h = self.encoder(packed)
        y, _ = self.decoder(self.embed(tgt), h)
        return self.out(y)


model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(80):
    src, tgt = make_batch()
    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(logits.transpose(1, 2), tgt[:, 1:], ignore_index=PAD)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
