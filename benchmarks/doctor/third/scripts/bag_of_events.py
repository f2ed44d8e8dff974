"""Classify event sequences with a small transformer encoder."""
import torch
import torch.nn as nn

torch.manual_seed(71)
PAD, VOCAB = 0, 40


def events(n=32, longest=12):
    ids = torch.zeros(n, longest, dtype=torch.long)
    for i in range(n):
        k = int(torch.randint(3, longest, (1,)))
        ids[i, :k] = torch.randint(2, VOCAB, (k,))
    y = torch.randint(0, 2, (n,))
    ids[y == 1, 1] = 1
    return ids, y


class EventFormer(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.pos = nn.Parameter(torch.zeros(1, 12, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 2)

    def forward(self, ids):
        mask = ids != PAD
        x = self.embed(ids) + self.pos
        x = self.encoder(x, src_key_padding_mask=mask)
        return self.head(x[:, 0])


model = EventFormer()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(80):
    ids, y = events()
    loss = nn.functional.cross_entropy(model(ids), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, f"{loss.item():.4f}")
