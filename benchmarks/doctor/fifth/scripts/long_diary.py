import torch
import torch.nn as nn

torch.manual_seed(20)
text = "on monday it rained and on tuesday the sun came out and we walked to the mill " * 40
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])
STREAMS, CHUNK = 16, 20
usable = len(ids) // STREAMS * STREAMS
streams = ids[:usable].view(STREAMS, -1)


class Diary(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(len(chars), 16)
        self.lstm = nn.LSTM(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(chars))

    def forward(self, x, state=None):
        h, state = self.lstm(self.embed(x), state)
        return self.out(h), state


model = Diary()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(8):
    state = None
    for start in range(0, streams.shape[1] - CHUNK - 1, CHUNK):
        x = streams[:, start : start + CHUNK]
        y = streams[:, start + 1 : start + CHUNK + 1]
        if state is not None:
            state = tuple(s.detach() for s in state)
        logits, state = model(x, state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
