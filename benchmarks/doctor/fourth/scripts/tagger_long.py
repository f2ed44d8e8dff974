import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

VOCAB, TAGS = 50, 4


def sentences(n, seed):
    g = torch.Generator().manual_seed(seed)
    rows = []
    for _ in range(n):
        length = int(torch.randint(3, 20, (1,), generator=g))
        words = torch.randint(1, VOCAB, (length,), generator=g)
        rows.append((words, words % TAGS))
    return rows


def collate(rows):
    words = pad_sequence([w for w, _ in rows], batch_first=True, padding_value=0)
    tags = pad_sequence([t for _, t in rows], batch_first=True, padding_value=-100)
    return words, tags


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 24, padding_idx=0)
        self.conv = nn.Conv1d(24, 48, 3, padding=1)
        self.out = nn.Linear(48, TAGS)

    def forward(self, words):
        h = self.conv(self.emb(words).transpose(1, 2)).relu()
        return self.out(h.transpose(1, 2))


def evaluate(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for words, tags in loader:
            valid = tags != -100
            right += (model(words).argmax(-1) == tags)[valid].sum().item()
            total += valid.sum().item()
    return right / total


torch.manual_seed(0)
train = DataLoader(sentences(600, 1), batch_size=20, shuffle=True, collate_fn=collate)
test = DataLoader(sentences(200, 2), batch_size=50, collate_fn=collate)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    model.train()
    for words, tags in train:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(words).flatten(0, 1), tags.flatten())
        loss.backward()
        optimizer.step()
    print(epoch, f"{evaluate(model, test):.3f}")
