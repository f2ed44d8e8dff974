"""Stateful LSTM over one long series."""
import torch
import torch.nn as nn

torch.manual_seed(241)
t = torch.arange(0, 1000) * 0.1
series = torch.sin(t) + 0.5 * torch.sin(0.31 * t)
CHUNK = 20


class Stateful(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        h, state = self.lstm(x, state)
        return self.out(h), state


model = Stateful()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
losses = []
for epoch in range(40):
    start = int(torch.randint(0, 800, (1,)))
    state = None
    optimizer.zero_grad()
    for i in range(start, start + 160, CHUNK):
        x = series[i:i + CHUNK].view(1, -1, 1)
        y = series[i + 1:i + 1 + CHUNK].view(1, -1, 1)
        pred, state = model(x, state)
        loss = nn.functional.mse_loss(pred, y)
        loss.backward(retain_graph=True)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
    if epoch % 10 == 9:
        print(epoch, sum(losses[-10:]) / 10)
