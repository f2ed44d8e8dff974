"""Character model of the names of days and months."""
import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS = (
    "monday tuesday wednesday thursday friday saturday sunday "
    "january february march april june july august september october november december"
).split()
CHARS = "." + "".join(sorted(set("".join(WORDS))))
IDX = {c: i for i, c in enumerate(CHARS)}


class CharGRU(nn.Module):
    def __init__(self, size=48):
        super().__init__()
        self.emb = nn.Embedding(len(CHARS), 16)
        self.gru = nn.GRU(16, size, batch_first=True)
        self.out = nn.Linear(size, len(CHARS))

    def forward(self, t):
        return self.out(self.gru(self.emb(t))[0])


def encode(words):
    width = max(map(len, words)) + 1
    rows = [[IDX[c] for c in w] + [0] * (width - len(w)) for w in words]
    data = torch.tensor(rows)
    return torch.cat([torch.zeros(len(rows), 1, dtype=torch.long), data], 1)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=4, gamma=0.2)

    def batch(self, rows):
        logits = self.model(rows[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    def epochs(self, rows, n):
        for e in range(n):
            losses = [self.batch(rows[i]) for i in torch.randperm(len(rows)).split(6)]
            print("epoch", e, "loss", round(sum(losses) / len(losses), 3))


torch.manual_seed(10)
Trainer(CharGRU()).epochs(encode(WORDS), 12)
