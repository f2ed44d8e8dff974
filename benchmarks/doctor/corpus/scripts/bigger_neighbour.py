import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(31)
VOCAB, LEN = 12, 15


def get_batch(size):
    """Tag every token with whether the previous token was larger."""
    tokens = torch.randint(0, VOCAB, (size, LEN))
    tags = torch.zeros_like(tokens)
    tags[:, 1:] = (tokens[:, :-1] > tokens[:, 1:]).long()
    return tokens, tags


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 16)
        self.gru = nn.GRU(16, 32, batch_first=True)

    def forward(self, tokens):
        return self.gru(self.embed(tokens))[0]


encoder, head = Encoder(), nn.Linear(32, 2)
encoder_optim = torch.optim.Adam(encoder.parameters(), lr=5e-3)
head_optim = torch.optim.Adam(head.parameters(), lr=5e-3)

for step in range(120):
    tokens, tags = get_batch(32)
    logits = head(encoder(tokens))
    loss = F.cross_entropy(logits.flatten(0, 1), tags.flatten())
    encoder_optim.zero_grad()
    head_optim.zero_grad()
    loss.backward()
    head_optim.step()
    if step % 30 == 0:
        print(f"step {step:4d} | loss {loss.item():.4f}")

with torch.no_grad():
    tokens, tags = get_batch(200)
    print("tag accuracy", (head(encoder(tokens)).argmax(-1) == tags).float().mean().item())
