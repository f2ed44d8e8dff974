import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = (
    "twinkle twinkle little star how i wonder what you are up above the world so high "
    "like a diamond in the sky when the blazing sun is gone when he nothing shines upon "
) * 5
vocab = sorted(set(TEXT))
data = torch.tensor([vocab.index(ch) for ch in TEXT])
CONTEXT = 24


class TinyLM(nn.Module):
    def __init__(self, width=48, heads=4, layers=2):
        super().__init__()
        self.token = nn.Embedding(len(vocab), width)
        self.position = nn.Embedding(CONTEXT, width)
        block = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.lm_head = nn.Linear(width, len(vocab))

    def forward(self, idx):
        h = self.token(idx) + self.position(torch.arange(idx.shape[1]))
        h = self.encoder(h)
        return self.lm_head(h)


def sample_batch(n=16):
    starts = torch.randint(0, len(data) - CONTEXT - 1, (n,))
    rows = torch.stack([data[s : s + CONTEXT + 1] for s in starts])
    return rows[:, :-1], rows[:, 1:]


torch.manual_seed(85)
lm = TinyLM()
optimizer = torch.optim.Adam(lm.parameters(), lr=3e-3)
for step in range(80):
    x, y = sample_batch()
    logits = lm(x)
    loss = F.cross_entropy(logits.reshape(-1, len(vocab)), y.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.3f}")
print(f"last loss {loss.item():.3f}")
