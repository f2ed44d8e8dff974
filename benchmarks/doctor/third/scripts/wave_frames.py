"""Tell the frequency of a wave with an LSTM."""
import torch
import torch.nn as nn

torch.manual_seed(92)


def waves(batch=32, length=30):
    t = torch.linspace(0, 3, length)[:, None]
    freq = torch.randint(0, 3, (batch,))
    phase = torch.rand(batch) * 6.28
    x = torch.sin((2.0 + 2 * freq) * t + phase) + 0.1 * torch.randn(length, batch)
    return x.unsqueeze(-1), freq


class FreqNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 3)

    def forward(self, x):
        h, _ = self.lstm(x)
        return self.out(h[:, -1])


model = FreqNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for step in range(100):
    x, y = waves()
    x = x.view(x.size(1), x.size(0), x.size(2))
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 25 == 24:
        print(step, f"{sum(losses[-25:]) / 25:.4f}")
