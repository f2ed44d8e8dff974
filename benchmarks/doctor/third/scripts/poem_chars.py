"""Character-level GRU on a rhyme."""
import torch
import torch.nn as nn

text = "the cat sat on the mat and the rat sat on the cat and the hat sat on the rat " * 30
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])


class CharGRU(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx):
        h, _ = self.gru(self.emb(idx))
        return self.head(h)


def get_batch(n=16, block=24):
    starts = torch.randint(0, len(data) - block - 1, (n,))
    x = torch.stack([data[s:s + block] for s in starts])
    y = torch.stack([data[s + 1:s + block + 1] for s in starts])
    return x, y


torch.manual_seed(11)
model = CharGRU(len(chars))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.0)
max_norm = 1e-4
for step in range(100):
    x, y = get_batch()
    logits = model(x)
    loss = nn.functional.cross_entropy(logits.view(-1, len(chars)), y.view(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    if step % 25 == 0:
        print(step, f"{loss.item():.4f}")
