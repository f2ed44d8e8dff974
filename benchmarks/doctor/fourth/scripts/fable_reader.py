import torch
import torch.nn as nn
import torch.nn.functional as F


class Reader(nn.Module):
    def __init__(self, vocab=30, dim=32, length=24):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(length, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        t = ids.size(1)
        h = self.tok(ids) + self.pos(torch.arange(t))
        mask = nn.Transformer.generate_square_subsequent_mask(t)
        return self.head(self.encoder(h, mask=mask, is_causal=True))


def text(n):
    return (torch.randint(0, 30, (n, 1)) + torch.randint(1, 6, (n, 1)) * torch.arange(25)) % 30


def run():
    torch.manual_seed(0)
    corpus, held = text(1200), text(200)
    model = Reader()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(4):
        model.train()
        for idx in torch.randperm(len(corpus)).split(40):
            logits = model(corpus[idx, :-1])
            loss = F.cross_entropy(logits.reshape(-1, 30), corpus[idx, 1:].reshape(-1))
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            value = F.cross_entropy(model(held[:, :-1]).reshape(-1, 30), held[:, 1:].reshape(-1))
        print(f"epoch {epoch}: held-out {value:.4f}")


run()
