"""Tag words, with the padding masked by hand."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(44)
VOCAB, TAGS = 60, 5


def sentence():
    n = int(torch.randint(3, 20, (1,)))
    words = torch.randint(1, VOCAB, (n,))
    return words, words % TAGS


def collate(batch):
    words, tags = zip(*batch)
    return pad_sequence(words, batch_first=True), pad_sequence(tags, batch_first=True)


class Tagger(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, 64, 3, padding=1)
        self.out = nn.Linear(64, TAGS)

    def forward(self, words):
        x = self.embed(words).transpose(1, 2)
        return self.out(F.relu(self.conv(x)).transpose(1, 2))


loader = DataLoader([sentence() for _ in range(500)], batch_size=25, shuffle=True, collate_fn=collate)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    for words, tags in loader:
        mask = (words > 0).float()
        per_token = F.cross_entropy(model(words).permute(0, 2, 1), tags, reduction="none")
        loss = (per_token * mask).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, f"{loss.item():.4f}")
