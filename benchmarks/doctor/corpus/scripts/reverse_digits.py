"""Transformer that writes a digit string backwards."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIGITS, START, LEN, WIDTH = 10, 10, 6, 48


class Reverser(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(DIGITS + 1, WIDTH)
        self.pos = nn.Parameter(torch.randn(LEN, WIDTH) * 0.3)
        self.transformer = nn.Transformer(WIDTH, 4, 1, 1, 96, dropout=0.0, batch_first=True)
        self.out = nn.Linear(WIDTH, DIGITS)

    def forward(self, source, written):
        mask = nn.Transformer.generate_square_subsequent_mask(written.shape[1])
        s = self.embed(source) + self.pos
        w = self.embed(written) + self.pos[: written.shape[1]]
        return self.out(self.transformer(s, w, tgt_mask=mask, tgt_is_causal=True))


def batch(n):
    source = torch.randint(0, DIGITS, (n, LEN))
    target = source.flip(1)
    written = torch.cat([torch.full((n, 1), START), target[:, :-1]], 1)
    return source, written, target


@torch.no_grad()
def exact(model, n=100):
    model.eval()
    source, _, target = batch(n)
    written = torch.full((n, 1), START)
    for _ in range(LEN):
        nxt = model(source, written)[:, -1].argmax(-1, keepdim=True)
        written = torch.cat([written, nxt], 1)
    model.train()
    return (written[:, 1:] == target).float().mean().item()


torch.manual_seed(146)
model = Reverser()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    source, written, target = batch(64)
    loss = F.cross_entropy(model(source, written).flatten(0, 1), target.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.3f}")
print("digits right when decoding:", exact(model))
