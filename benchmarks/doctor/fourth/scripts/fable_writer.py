import torch
import torch.nn as nn
import torch.nn.functional as F


class Fable(nn.Module):
    def __init__(self, vocab=30, dim=32, length=24):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(length, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.tok(ids) + self.pos(torch.arange(ids.size(1)))
        return self.head(self.encoder(h))


def text(n):
    steps = torch.randint(1, 6, (n, 25))
    return steps.cumsum(1) % 30


torch.manual_seed(0)
corpus = text(1200)
model = Fable()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(5):
    for idx in torch.randperm(len(corpus)).split(40):
        x, y = corpus[idx, :-1], corpus[idx, 1:]
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, 30), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
