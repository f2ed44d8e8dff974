"""Truncated BPTT over a stream of tokens."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(242)
VOCAB, B, T = 12, 8, 16
stream = (torch.cumsum(torch.randint(1, 3, (B, 1200)), 1)) % VOCAB


class StreamLM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)
        self.dim = dim

    def init_hidden(self):
        return torch.zeros(1, B, self.dim)

    def forward(self, x, h):
        y, h = self.gru(self.embed(x), h)
        return self.head(y), h


model = StreamLM()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
hidden = model.init_hidden()
for step, i in enumerate(range(0, 1200 - T - 1, T)):
    x, y = stream[:, i:i + T], stream[:, i + 1:i + T + 1]
    logits, hidden = model(x, hidden)
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), y.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, f"{loss.item():.4f}")
