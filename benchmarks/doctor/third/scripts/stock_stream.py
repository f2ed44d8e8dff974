"""Truncated BPTT with repackaged hidden states."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(243)
VOCAB, B, T = 12, 8, 16
stream = (torch.cumsum(torch.randint(1, 3, (B, 800)), 1)) % VOCAB


def repackage(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage(v) for v in h)


class StreamLM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, x, h=None):
        y, h = self.lstm(self.embed(x), h)
        return self.head(y), h


model = StreamLM()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(2):
    hidden = None
    for i in range(0, 800 - T - 1, T):
        x, y = stream[:, i:i + T], stream[:, i + 1:i + T + 1]
        if hidden is not None:
            hidden = repackage(hidden)
        logits, hidden = model(x, hidden)
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, f"{loss.item():.4f}")
