"""Predict the next colour of an aurora from the colours so far."""
import torch
from torch import nn

COLOURS, WIDTH, SPAN, SKIES = 18, 32, 20, 10


def waves():
    """One row per moment: sines in the even columns, cosines in the odd ones."""
    speeds = 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
    angles = torch.outer(torch.arange(50.0), speeds)
    return torch.stack([angles.sin(), angles.cos()], 2).reshape(50, 1, WIDTH)


class Aurora(nn.Module):
    def __init__(self):
        super().__init__()
        self.colours = nn.Embedding(COLOURS, WIDTH)
        self.register_buffer("moments", waves())
        block = nn.TransformerEncoderLayer(WIDTH, 2, 64, dropout=0.1)
        self.sky = nn.TransformerEncoder(block, 1, enable_nested_tensor=False)
        self.guess = nn.Linear(WIDTH, COLOURS)

    def forward(self, seen):
        later = torch.ones(len(seen), len(seen)).triu(1).bool()
        h = self.colours(seen) * WIDTH**0.5 + self.moments[: len(seen)]
        return self.guess(self.sky(h, later))


def side_by_side(colours):
    """Cut one long night into SKIES columns."""
    return colours[: len(colours) // SKIES * SKIES].view(SKIES, -1).t().contiguous()


def pair(night, start):
    end = min(start + SPAN, len(night) - 1)
    return night[start:end], night[start + 1 : end + 1]


torch.manual_seed(0)
colours = torch.tensor([(i * i + i // 3) % COLOURS for i in range(2400)])
nights, kept = side_by_side(colours[:2000]), side_by_side(colours[2000:])
net = Aurora()
score = nn.CrossEntropyLoss()
adam = torch.optim.Adam(net.parameters(), lr=3e-3)


def judge():
    net.eval()
    total = 0.0
    with torch.no_grad():
        for start in range(0, len(kept) - 1, SPAN):
            seen, wanted = pair(kept, start)
            total += len(seen) * score(net(seen).flatten(0, 1), wanted.flatten()).item()
    return total / (len(kept) - 1)


for epoch in range(12):
    net.train()
    for k in torch.randperm((len(nights) - 1) // SPAN).tolist():
        seen, wanted = pair(nights, k * SPAN)
        loss = score(net(seen).flatten(0, 1), wanted.flatten())
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        adam.step()
    print(f"epoch {epoch} train {loss.item():.3f} kept {judge():.3f}")
