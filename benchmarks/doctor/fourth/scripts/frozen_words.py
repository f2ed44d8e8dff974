import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence


class Sentiment(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.emb = nn.Embedding.from_pretrained(vectors, freeze=True, padding_idx=0)
        self.gru = nn.GRU(vectors.shape[1], 32, batch_first=True)
        self.head = nn.Linear(32, 2)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.emb(ids), lengths, batch_first=True, enforce_sorted=False)
        return self.head(self.gru(packed)[1][0])


def texts(n):
    rows = [torch.randint(1, 40, (int(torch.randint(3, 14, ())),)) for _ in range(n)]
    labels = torch.tensor([int((r < 20).sum() > (r >= 20).sum()) for r in rows])
    return rows, labels


def collate(rows):
    return pad_sequence(rows, batch_first=True), torch.tensor([len(r) for r in rows])


torch.manual_seed(0)
vectors = torch.randn(40, 16)
vectors[1:20, 0] += 1.5
vectors[0] = 0
rows, labels = texts(1200)
model = Sentiment(vectors)
opt = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=3e-3)
for epoch in range(4):
    hits = 0
    for idx in torch.randperm(1200).split(40):
        ids, lengths = collate([rows[i] for i in idx.tolist()])
        logits = model(ids, lengths)
        loss = nn.functional.cross_entropy(logits, labels[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        hits += (logits.argmax(1) == labels[idx]).sum().item()
    print(f"epoch {epoch}: {hits / 1200:.3f}")
