import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(0)
ACC = 4


class StoryLM(nn.Module):
    def __init__(self, vocab=25, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.gru = nn.GRU(dim, 48, batch_first=True)
        self.out = nn.Linear(48, vocab)

    def forward(self, ids):
        return self.out(self.gru(self.emb(ids))[0])


def stories(n):
    rows = []
    for i in range(n):
        length = 4 if torch.rand(()) < 0.5 else 48
        rows.append((torch.randint(0, 24, ()) + torch.randint(1, 4, ()) * torch.arange(length)) % 24 + 1)
    return rows


rows = stories(960)
model = StoryLM()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
for epoch in range(3):
    order = torch.randperm(len(rows)).tolist()
    micro = [order[i : i + 4] for i in range(0, len(order), 4)]
    optimizer.zero_grad()
    for i, picks in enumerate(micro):
        ids = pad_sequence([rows[j] for j in picks], batch_first=True)
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)
        (loss / ACC).backward()
        if (i + 1) % ACC == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: {loss.item():.4f}")
