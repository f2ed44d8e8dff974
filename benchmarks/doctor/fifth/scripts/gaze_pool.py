import torch
import torch.nn as nn

torch.manual_seed(14)


class GazePool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, h):
        weights = torch.softmax(self.score(h), dim=0)
        return (weights * h).sum(dim=1)


class Reader(nn.Module):
    def __init__(self, vocab=30, dim=24, classes=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.pool = GazePool(dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, ids):
        h, _ = self.gru(self.embed(ids))
        return self.out(self.pool(h))


def sentences(n):
    ids = torch.randint(6, 30, (n, 14))
    label = torch.randint(0, 6, (n,))
    spot = torch.randint(0, 14, (n,))
    ids[torch.arange(n), spot] = label
    return ids, label


x, y = sentences(1500)
xv, yv = sentences(300)
reader = Reader()
opt = torch.optim.Adam(reader.parameters(), lr=3e-3)
for epoch in range(4):
    reader.train()
    for idx in torch.randperm(len(x)).split(30):
        loss = nn.functional.cross_entropy(reader(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    reader.eval()
    with torch.no_grad():
        acc = (reader(xv).argmax(1) == yv).float().mean()
    print(f"epoch {epoch}: loss {loss.item():.3f} held-out {acc:.3f}")
