import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, vocab=20, width=32, length=12):
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.pos = nn.Parameter(torch.randn(length, width) * 0.1)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 2)

    def forward(self, t):
        return self.head(self.norm(self.enc(self.tok(t) + self.pos)).mean(1))


def paragraphs(n):
    """Label 1 if more than half of the words are short ones (below 10)."""
    t = torch.randint(0, 20, (n, 12))
    y = ((t < 10).sum(1) > 6).long()
    return t, y


torch.manual_seed(95)
x, y = paragraphs(512)
x_val, y_val = paragraphs(200)
model = Encoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1)
for epoch in range(6):
    model.train()
    total = 0.0
    for idx in torch.randperm(512).split(32):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() / 16
    model.eval()
    with torch.no_grad():
        acc = (model(x_val).argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch} loss {total:.3f} acc {acc:.3f}")
