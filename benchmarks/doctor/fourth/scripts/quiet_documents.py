import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SelfRead(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, 2)
        self.scale = dim**-0.5

    def forward(self, tokens):
        pad = tokens == 0
        h = self.emb(tokens)
        q, k, v = self.qkv(h).chunk(3, dim=-1)
        scores = torch.einsum("bqd,bkd->bqk", q, k) * self.scale
        scores = scores.masked_fill(pad[:, None, :], torch.finfo(scores.dtype).min)
        mixed = torch.einsum("bqk,bkd->bqd", torch.softmax(scores, -1), v)
        mixed = mixed.masked_fill(pad[..., None], 0.0)
        return self.out(mixed.sum(1) / (~pad).sum(1, keepdim=True).clamp(min=1))


class Runner:
    def __init__(self, model, lr=2e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def fit(self, loader):
        self.model.train()
        total = 0.0
        for tokens, labels in loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(tokens), labels)
            loss.backward()
            self.optimizer.step()
            total += float(loss.detach())
        return total / len(loader)

    @torch.no_grad()
    def accuracy(self, loader):
        self.model.eval()
        right = sum((self.model(t).argmax(1) == y).sum().item() for t, y in loader)
        return right / len(loader.dataset)


def corpus(n, vocab=40, length=12):
    tokens = torch.randint(1, vocab, (n, length))
    lengths = torch.randint(0, length + 1, (n, 1))
    tokens[torch.arange(length)[None] >= lengths] = 0
    hits = (tokens == 7) | (tokens == 9) | (tokens == 12)
    return TensorDataset(tokens, hits.any(1).long())


torch.manual_seed(4)
train = DataLoader(corpus(2000), batch_size=50, shuffle=True)
test = DataLoader(corpus(500), batch_size=100)
runner = Runner(SelfRead(40, 32))
for epoch in range(4):
    print(epoch, f"{runner.fit(train):.4f}", f"{runner.accuracy(test):.3f}")
