"""Tag the words of short sentences with an LSTM."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(41)
VOCAB, TAGS = 60, 5


def sentence():
    n = int(torch.randint(3, 25, (1,)))
    words = torch.randint(1, VOCAB, (n,))
    tags = words % TAGS
    return words, tags


def collate(batch):
    words, tags = zip(*batch)
    words = pad_sequence(words, batch_first=True)
    tags = pad_sequence(tags, batch_first=True)
    return words, tags


class Tagger(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, TAGS)

    def forward(self, words):
        h, _ = self.lstm(self.embed(words))
        return self.out(h)


loader = DataLoader([sentence() for _ in range(400)], batch_size=20, shuffle=True, collate_fn=collate)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    for words, tags in loader:
        optimizer.zero_grad()
        logits = model(words)
        loss = criterion(logits.reshape(-1, TAGS), tags.reshape(-1))
        loss.backward()
        optimizer.step()
    print(epoch, f"{loss.item():.4f}")
