"""Encoder-only transformer: are the brackets of a line in the right order?"""
import torch
import torch.nn as nn
import torch.nn.functional as F

OPEN, CLOSE, CLS, LEN = 0, 1, 2, 10


def lines(n):
    """half drawn as well-formed lines, half as random orders of the same brackets"""
    out = torch.empty(n, LEN, dtype=torch.long)
    for i in range(n):
        depth = 0
        for t in range(LEN):
            up = depth == 0 or (depth < LEN - t and torch.rand(1).item() < 0.5)
            out[i, t] = OPEN if up else CLOSE
            depth += 1 if up else -1
        if i % 2:
            out[i] = out[i][torch.randperm(LEN)]
    depth = (1 - 2 * out).cumsum(1)
    return out, (depth.min(1).values >= 0).long()


class Reader(nn.Module):
    def __init__(self, width=32, heads=4, layers=2):
        super().__init__()
        self.token = nn.Embedding(3, width)
        self.place = nn.Parameter(0.5 * torch.randn(LEN + 1, width))
        layer = nn.TransformerEncoderLayer(width, heads, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 2)

    def forward(self, tokens):
        cls = torch.full((len(tokens), 1), CLS)
        h = self.token(torch.cat([cls, tokens], 1)) + self.place
        return self.head(self.norm(self.encoder(h)[:, 0]))


torch.manual_seed(64)
tokens, labels = lines(1200)
unique, inverse = torch.unique(tokens, dim=0, return_inverse=True)
held = torch.randperm(len(unique))[: len(unique) // 5]
is_test = torch.isin(inverse, held)
train, test = (~is_test).nonzero().flatten(), is_test.nonzero().flatten()
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    model.train()
    total = 0.0
    for idx in train[torch.randperm(len(train))].split(48):
        loss = F.cross_entropy(model(tokens[idx]), labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx) / len(train)
    model.eval()
    with torch.no_grad():
        acc = (model(tokens[test]).argmax(1) == labels[test]).float().mean()
    print(f"epoch {epoch}: loss {total:.3f} accuracy on unseen lines {acc:.3f}")
