import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = (
    "a bird in the hand is worth two in the bush. the early bird catches the worm. "
    "all that glitters is not gold. a stitch in time saves nine. the pen is mightier than the sword. "
) * 4
chars = sorted(set(TEXT))
ids = torch.tensor([chars.index(c) for c in TEXT])
BLOCK, WIDTH = 16, 64


class PocketGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(chars), WIDTH)
        self.pos = nn.Parameter(torch.randn(BLOCK, WIDTH) * 0.02)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 128, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(WIDTH)
        self.out = nn.Linear(WIDTH, len(chars), bias=False)
        self.out.weight = self.emb.weight

    def forward(self, idx):
        mask = nn.Transformer.generate_square_subsequent_mask(idx.shape[1])
        h = self.blocks(self.emb(idx) + self.pos[: idx.shape[1]], mask=mask, is_causal=True)
        return self.out(self.norm(h))


def get_batch(size=16):
    start = torch.randint(0, len(ids) - BLOCK - 1, (size,)).tolist()
    return torch.stack([ids[s : s + BLOCK] for s in start]), torch.stack([ids[s + 1 : s + BLOCK + 1] for s in start])


torch.manual_seed(44)
model = PocketGPT()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for it in range(60):
    x, y = get_batch()
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(f"iter {it:3d} loss {loss.item():.3f}")
