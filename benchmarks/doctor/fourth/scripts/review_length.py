import torch
import torch.nn as nn


class ReviewModel(nn.Module):
    def __init__(self, vocab=60, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos = nn.Parameter(0.02 * torch.randn(1, 16, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 2)

    def forward(self, tokens):
        mask = tokens != 0
        h = self.emb(tokens) + self.pos[:, : tokens.shape[1]]
        h = self.encoder(h, src_key_padding_mask=mask)
        keep = mask.unsqueeze(-1).float()
        return self.head((h * keep).sum(1) / keep.sum(1))


def reviews(n):
    tokens = torch.randint(1, 60, (n, 16))
    lengths = torch.randint(4, 16, (n, 1))
    tokens[torch.arange(16)[None] >= lengths] = 0
    good = ((tokens > 0) & (tokens < 20)).sum(1)
    bad = (tokens >= 40).sum(1)
    return tokens, (good > bad).long()


torch.manual_seed(0)
tokens, labels = reviews(1600)
model = ReviewModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    model.train()
    for idx in torch.randperm(len(tokens)).split(32):
        optimizer.zero_grad()
        loss = criterion(model(tokens[idx]), labels[idx])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
