import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

random.seed(33)
torch.manual_seed(33)


def example():
    n = random.randint(3, 15)
    steps = torch.randn(n, 2) * 0.5
    return steps, int(steps[:, 0].sum() > steps[:, 1].sum())


def bucket_batches(data, size):
    order = sorted(range(len(data)), key=lambda i: len(data[i][0]) + random.random())
    batches = [order[k : k + size] for k in range(0, len(order), size)]
    random.shuffle(batches)
    for batch in batches:
        rows = [data[i][0] for i in batch]
        lengths = torch.tensor([len(r) for r in rows])
        yield pad_sequence(rows, batch_first=True), lengths, torch.tensor([data[i][1] for i in batch])


class Walker(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(2, 32, batch_first=True)
        self.fc = nn.Linear(32, 2)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.fc(self.gru(packed)[1][-1])


train, test = [example() for _ in range(1000)], [example() for _ in range(300)]
model = Walker()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    for x, lengths, y in bucket_batches(train, 25):
        loss = nn.functional.cross_entropy(model(x, lengths), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(x, n).argmax(1) == y).sum().item() for x, n, y in bucket_batches(test, 50))
    print(f"epoch {epoch}: loss {loss.item():.3f} test {hits / 300:.3f}")
