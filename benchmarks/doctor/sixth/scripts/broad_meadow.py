"""Tag the words of sentences of very different lengths with an LSTM."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD = 0
WORDS, TAGS = 40, 6


def sentences(n):
    data = []
    for _ in range(n):
        length = int(torch.randint(2, 24, ())) if torch.rand(()) < 0.15 else int(torch.randint(2, 6, ()))
        words = torch.randint(1, WORDS, (length,))
        tags = 1 + words % (TAGS - 1)
        data.append((words, tags))
    return data


def collate(batch):
    words, tags = zip(*batch)
    return (
        pad_sequence(words, batch_first=True, padding_value=PAD),
        pad_sequence(tags, batch_first=True, padding_value=PAD),
    )


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 24, padding_idx=PAD)
        self.lstm = nn.LSTM(24, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, TAGS)

    def forward(self, words):
        return self.out(self.lstm(self.embed(words))[0])


torch.manual_seed(13)
loader = DataLoader(sentences(600), batch_size=24, shuffle=True, collate_fn=collate)
model = Tagger()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(5):
    right = total = 0
    for words, tags in loader:
        scores = model(words)
        loss = criterion(scores.reshape(-1, TAGS), tags.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += ((scores.argmax(-1) == tags) & (tags != PAD)).sum().item()
        total += (tags != PAD).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.4f}, tags right {right / total:.3f}")
