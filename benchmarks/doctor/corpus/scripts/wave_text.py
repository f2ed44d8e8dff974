import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(87)
text = "the rain in spain stays mainly in the plain and the train to the plane came again in the rain. " * 6
chars = sorted(set(text))
lookup = {c: i for i, c in enumerate(chars)}
stream = torch.tensor([lookup[c] for c in text])


class ConvLM(nn.Module):
    """Autoregressive character model made of dilated convolutions."""

    def __init__(self, n_chars, width=40):
        super().__init__()
        self.embed = nn.Embedding(n_chars, width)
        self.convs = nn.ModuleList(
            nn.Conv1d(width, width, 3, padding=d, dilation=d) for d in (1, 2, 4)
        )
        self.out = nn.Linear(width, n_chars)

    def forward(self, idx):
        h = self.embed(idx).transpose(1, 2)
        for conv in self.convs:
            h = h + F.relu(conv(h))
        return self.out(h.transpose(1, 2))


def next_char_loss(model, windows):
    logits = model(windows[:, :-1])
    return F.cross_entropy(logits.reshape(-1, len(chars)), windows[:, 1:].reshape(-1))


model = ConvLM(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for it in range(120):
    start = torch.randint(0, len(stream) - 33, (16, 1))
    windows = stream[start + torch.arange(33)]
    loss = next_char_loss(model, windows)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 30 == 0:
        print("iteration", it, "loss", round(loss.item(), 3))
print("bits per character", round(loss.item() / 0.6931, 3))
