import torch
import torch.nn as nn

torch.manual_seed(20)


class CharRNN(nn.Module):
    def __init__(self, vocab, dim=24, hidden=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.RNN(dim, hidden, batch_first=True, nonlinearity="relu")
        self.out = nn.Linear(hidden, vocab)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


text = "the kite goes up and the string goes out and the wind goes round the hill " * 30
chars = sorted(set(text))
index = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([index[c] for c in text])


def sample_batch(size=32, length=25):
    starts = torch.randint(0, len(ids) - length - 1, (size,))
    rows = torch.stack([ids[s : s + length + 1] for s in starts])
    return rows[:, :-1], rows[:, 1:]


model = CharRNN(len(chars))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
criterion = nn.CrossEntropyLoss()
max_norm = 0.5

for step in range(1, 201):
    x, y = sample_batch()
    loss = criterion(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if step % 40 == 0:
        print(f"step {step} loss {loss.item():.4f}")
