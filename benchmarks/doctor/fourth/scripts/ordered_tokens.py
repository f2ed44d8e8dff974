import torch
import torch.nn as nn
import torch.nn.functional as F


class Ordered(nn.Module):
    def __init__(self, vocab=12, dim=32, longest=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.1 * torch.randn(1, longest, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        t = ids.shape[1]
        h = self.tok(ids) + self.pos[:, t]
        return self.head(self.body(h).mean(1))


def batches(n):
    for _ in range(n):
        ids = torch.randint(0, 12, (40, 9))
        yield ids, ids[:, 2]


torch.manual_seed(0)
model = Ordered()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
hits = 0
for step, (ids, goal) in enumerate(batches(240), 1):
    logits = model(ids)
    loss = F.cross_entropy(logits, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    hits += (logits.argmax(1) == goal).float().mean().item()
    if step % 60 == 0:
        print(f"{step}: loss {loss.item():.4f} right {hits / 60:.3f}")
        hits = 0
