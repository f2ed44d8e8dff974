"""Read codes from frames with CTC."""
import torch
import torch.nn as nn

torch.manual_seed(353)
SYMBOLS, FRAMES = 6, 24
sound = torch.randn(SYMBOLS + 1, 8)


def utterances(n=24):
    lengths = torch.randint(2, 6, (n,))
    targets = torch.zeros(n, 5, dtype=torch.long)
    frames = torch.zeros(FRAMES, n, dtype=torch.long)
    for i, k in enumerate(lengths.tolist()):
        code = torch.randint(1, SYMBOLS + 1, (k,))
        targets[i, :k] = code
        for j, c in enumerate(code.tolist()):
            frames[4 * j:4 * j + 3, i] = c
    return sound[frames] + 0.2 * torch.randn(FRAMES, n, 8), targets, lengths


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 32, bidirectional=True)
        self.out = nn.Linear(64, SYMBOLS + 1)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.out(h).log_softmax(dim=2)


model = Listener()
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(80):
    x, targets, lengths = utterances()
    log_probs = model(x)
    input_lengths = torch.full((x.size(1),), FRAMES, dtype=torch.long)
    loss = ctc(log_probs, targets, input_lengths, lengths)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 20 == 0:
        print(step, f"{loss.item():.4f}")
