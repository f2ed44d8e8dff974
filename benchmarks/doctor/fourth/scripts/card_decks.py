import torch
import torch.nn as nn


def decks(n):
    g = torch.Generator().manual_seed(8)
    y = torch.randint(0, 4, (n,), generator=g)
    centres = 2 * torch.randn(4, 8, generator=g)
    return centres[y] + torch.randn(n, 8, generator=g), y


def shuffle(t):
    return t[torch.randperm(len(t))]


def batches(x, y, size):
    x, y = shuffle(x), shuffle(y)
    for i in range(0, len(x), size):
        yield x[i : i + size], y[i : i + size]


torch.manual_seed(0)
x, y = decks(1600)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    hits = 0
    for xb, yb in batches(x, y, 32):
        out = model(xb)
        loss = nn.functional.cross_entropy(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        hits += (out.argmax(1) == yb).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.4f} accuracy {hits / len(x):.3f}")
