"""Character LSTM with the old SGD recipe: high rate and a tight clip."""
import torch
import torch.nn as nn

text = "row row row your boat gently down the stream merrily merrily merrily life is but a dream " * 30
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])


class CharLSTM(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx):
        h, _ = self.lstm(self.emb(idx))
        return self.head(h)


def get_batch(n=16, block=20):
    starts = torch.randint(0, len(data) - block - 1, (n,))
    x = torch.stack([data[s:s + block] for s in starts])
    y = torch.stack([data[s + 1:s + block + 1] for s in starts])
    return x, y


torch.manual_seed(12)
model = CharLSTM(len(chars))
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
for step in range(200):
    x, y = get_batch()
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
    if step % 40 == 0:
        print(step, f"{loss.item():.4f}")
