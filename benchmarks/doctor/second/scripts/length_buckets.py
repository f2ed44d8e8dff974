import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Sampler

LETTERS, PAD = 8, 8


class Words(Dataset):
    """count the distinct letters of a word; sorted by length once"""

    def __init__(self, n, seed):
        r = random.Random(seed)
        self.words = sorted(([r.randrange(LETTERS) for _ in range(r.randint(3, 12))] for _ in range(n)), key=len)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        return self.words[i], len(set(self.words[i]))


class Buckets(Sampler):
    """batches hold words of like length, and are served in a new order each epoch"""

    def __init__(self, n, size):
        self.n, self.size = n, size

    def __len__(self):
        return -(-self.n // self.size)

    def __iter__(self):
        start = random.randrange(self.size)
        edges = [0, *range(start or self.size, self.n, self.size), self.n]
        batches = [list(range(a, b)) for a, b in zip(edges, edges[1:]) if b > a]
        random.shuffle(batches)
        return iter(batches)


def collate(items):
    words, counts = zip(*items)
    longest = max(map(len, words))
    return torch.tensor([w + [PAD] * (longest - len(w)) for w in words]), torch.tensor(counts).float()


class Counter(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(LETTERS + 1, 16, padding_idx=PAD)
        self.mlp = nn.Sequential(nn.Linear(16, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.out = nn.Sequential(nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, w):
        h = self.mlp(self.embed(w)).masked_fill((w == PAD).unsqueeze(-1), -1e4)
        return self.out(h.amax(1)).squeeze(1)


random.seed(23)
torch.manual_seed(23)
words, unseen = Words(1200, 1), Words(300, 2)
train = DataLoader(words, batch_sampler=Buckets(len(words), 32), collate_fn=collate)
test = DataLoader(unseen, batch_size=100, collate_fn=collate)
model = Counter()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    model.train()
    for w, c in train:
        opt.zero_grad()
        loss = F.smooth_l1_loss(model(w), (c - 5) / 1.5)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        miss = sum((model(w) * 1.5 + 5 - c).abs().sum().item() for w, c in test) / 300
    print(f"epoch {epoch}: mean miss {miss:.3f} letters")
