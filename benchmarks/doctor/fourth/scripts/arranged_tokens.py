import torch
import torch.nn as nn
import torch.nn.functional as F


class Arranged(nn.Module):
    def __init__(self, vocab=12, dim=32, longest=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.1 * torch.randn(1, longest, dim))
        self.cls = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = torch.cat([self.cls.expand(len(ids), -1, -1), self.tok(ids)], dim=1)
        h = self.body(h + self.pos[:, : h.shape[1]])
        return self.head(h[:, 0])


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        for _ in range(4800):
            ids = torch.randint(0, 12, (9,))
            yield ids, ids[2]


torch.manual_seed(0)
model = Arranged()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(2):
    hits = 0
    for ids, goal in torch.utils.data.DataLoader(Stream(), batch_size=40):
        logits = model(ids)
        loss = F.cross_entropy(logits, goal)
        opt.zero_grad()
        loss.backward()
        opt.step()
        hits += (logits.argmax(1) == goal).sum().item()
    print(f"{epoch}: loss {loss.item():.4f} right {hits / 4800:.3f}")
