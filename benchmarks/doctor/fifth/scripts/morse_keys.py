import torch
from torch import nn

torch.manual_seed(59)
SYMBOLS, FRAMES, LETTERS = 5, 24, 4
signature = torch.randn(SYMBOLS + 1, 6)
signature[0] = 0


def messages(n):
    letters = torch.randint(1, SYMBOLS + 1, (n, LETTERS))
    frames = torch.zeros(n, FRAMES, dtype=torch.long)
    for k in range(LETTERS):
        start = k * 6 + torch.randint(0, 2, (n,))
        for j in range(3):
            frames[torch.arange(n), start + j] = letters[:, k]
    return signature[frames] + 0.3 * torch.randn(n, FRAMES, 6), letters


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, SYMBOLS + 1)

    def forward(self, x):
        return self.out(self.gru(x)[0]).log_softmax(-1).transpose(0, 1)


def decode(logp):
    best = logp.argmax(-1).T.tolist()
    return [[s for s, before in zip(row, [0, *row]) if s and s != before] for row in best]


model = Listener()
ctc = nn.CTCLoss(blank=0)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = messages(600)
xv, yv = messages(200)
for epoch in range(6):
    for idx in torch.randperm(len(x)).split(30):
        n = len(idx)
        loss = ctc(model(x[idx]), y[idx], torch.full((n,), FRAMES), torch.full((n,), LETTERS))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    with torch.no_grad():
        right = sum(a == b for a, b in zip(decode(model(xv)), yv.tolist())) / 200
    print(f"epoch {epoch}: loss {loss.item():.3f} whole messages right {right:.3f}")
