import torch
import torch.nn as nn

VOCAB, BATCH, CHUNK = 26, 8, 20


class Journal(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 32)
        self.lstm = nn.LSTM(32, 64, batch_first=True)
        self.out = nn.Linear(64, VOCAB)

    def forward(self, x, state=None):
        h, state = self.lstm(self.emb(x), state)
        return self.out(h), state


def repackage(state):
    return tuple(s.detach() for s in state)


def train(model, stream, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        state, total, n = None, 0.0, 0
        for i in range(0, stream.shape[1] - CHUNK - 1, CHUNK):
            x, y = stream[:, i : i + CHUNK], stream[:, i + 1 : i + CHUNK + 1]
            if state is not None:
                state = repackage(state)
            logits, state = model(x, state)
            loss = nn.functional.cross_entropy(logits.reshape(-1, VOCAB), y.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total, n = total + loss.item(), n + 1
        print(epoch, f"{total / n:.4f}")


torch.manual_seed(0)
text = (torch.arange(8000) * 3 + torch.arange(8000) // 50) % VOCAB
train(Journal(), text.view(BATCH, -1), epochs=4)
