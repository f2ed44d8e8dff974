"""Classify click sequences with self-attention."""
import torch
import torch.nn as nn

torch.manual_seed(73)
VOCAB = 40


def clicks(n=32, longest=12):
    lengths = torch.randint(3, longest + 1, (n,))
    valid = torch.arange(longest)[None, :] < lengths[:, None]
    ids = torch.randint(2, VOCAB, (n, longest)) * valid
    y = torch.randint(0, 2, (n,))
    ids[y == 1, 1] = 1
    return ids, valid, y


class ClickNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 2)

    def forward(self, ids, valid):
        x = self.embed(ids)
        a, _ = self.attn(x, x, x, key_padding_mask=valid.logical_not(), need_weights=False)
        x = self.norm(x + a)
        pooled = (x * valid.unsqueeze(-1)).sum(1) / valid.sum(1, keepdim=True)
        return self.head(pooled)


model = ClickNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(100):
    ids, valid, y = clicks()
    loss = nn.functional.cross_entropy(model(ids, valid), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(step, f"{loss.item():.4f}")
