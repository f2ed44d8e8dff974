import torch
from torch import nn

torch.manual_seed(0)


class Adder(nn.Module):
    """Add the two marked numbers of a sequence."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 16, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


def numbers(n=32, length=8):
    value, mark = torch.rand(n, length), torch.zeros(n, length)
    where = torch.rand(n, length).argsort(1)[:, :2]
    mark.scatter_(1, where, 1.0)
    return torch.stack([value, mark], -1), (value * mark).sum(1, keepdim=True)


model = Adder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
clipped, recent = 0, []
for step in range(600):
    x, y = numbers()
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    clipped += int(nn.utils.clip_grad_norm_(model.parameters(), 0.3) > 0.3)
    optimizer.step()
    recent.append(loss.item())
    if step % 100 == 99:
        print(f"step {step + 1} loss {sum(recent[-50:]) / 50:.4f} clipped {clipped}")
