import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader


def histories(n, g):
    """lists of (gap, amount); label: did the amounts rise on the whole?"""
    out = []
    for _ in range(n):
        length = int(torch.randint(4, 15, (1,), generator=g))
        up = int(torch.rand(1, generator=g) < 0.5)
        amount = (0.25 if up else -0.25) * (torch.arange(length) - length / 2) + 0.6 * torch.randn(length, generator=g)
        gap = torch.randn(length, generator=g)
        out.append((torch.stack([gap, amount], 1), up))
    return out


def collate(batch):
    seqs, labels = zip(*batch)
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True), lengths, torch.tensor(labels)


class EventLSTM(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(2 * hidden, 2)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, (h, _) = self.lstm(packed)
        return self.fc(self.drop(torch.cat([h[0], h[1]], dim=1)))


g = torch.Generator().manual_seed(17)
torch.manual_seed(17)
train = DataLoader(histories(500, g), batch_size=25, shuffle=True, collate_fn=collate)
test = DataLoader(histories(150, g), batch_size=50, collate_fn=collate)
model = EventLSTM()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    model.train()
    total = 0.0
    for x, lengths, y in train:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, lengths), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() / len(train)
    model.eval()
    with torch.no_grad():
        hits = sum((model(x, n).argmax(1) == y).sum().item() for x, n, y in test)
    print(f"epoch {epoch}: loss {total:.3f} test accuracy {hits / 150:.3f}")
