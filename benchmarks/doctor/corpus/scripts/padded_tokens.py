import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, VOCAB = 0, 14
torch.manual_seed(102)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 24, padding_idx=PAD)
        self.rnn = nn.GRU(24, 40, batch_first=True, bidirectional=True)
        self.out = nn.Linear(80, 3)

    def forward(self, t):
        return self.out(self.rnn(self.emb(t))[0])


def get(n):
    """tag = how many of the two neighbours are smaller, sentences of 4 to 12 tokens"""
    length = torch.randint(4, 13, (n,))
    t = torch.randint(1, VOCAB, (n, 12)) * (torch.arange(12) < length[:, None])
    left, right = F.pad(t, (1, 0))[:, :-1], F.pad(t, (0, 1))[:, 1:]
    tags = ((left < t).long() + (right < t).long()).masked_fill(t == PAD, -100)
    return t, tags


net = Tagger()
optim = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(120):
    micro = [get(16) for _ in range(3)]
    tokens = sum((tags != -100).sum().item() for _, tags in micro)
    optim.zero_grad()
    total = 0.0
    for t, tags in micro:
        loss = F.cross_entropy(net(t).transpose(1, 2), tags, ignore_index=-100, reduction="sum")
        (loss / tokens).backward()
        total += loss.item()
    optim.step()
    if step % 30 == 0:
        print(f"step {step}: loss per token {total / tokens:.3f}")

t, tags = get(300)
with torch.no_grad():
    hit = (net(t).argmax(-1) == tags)[tags != -100].float().mean()
print(f"tag accuracy {hit:.3f}")
