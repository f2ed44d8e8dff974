"""Elman network written by hand: do more ones than minus ones appear?"""
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.inp = nn.Linear(inputs, hidden)
        self.rec = nn.Linear(hidden, hidden, bias=False)
        self.act = nn.Tanh()

    def forward(self, x, h):
        return self.act(self.inp(x) + self.rec(h))


class Elman(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.hidden = hidden
        self.cell = Cell(2, hidden)
        self.read = nn.Linear(hidden, 2)
        for w in (self.cell.inp.weight, self.cell.rec.weight):
            nn.init.normal_(w, std=3.0)

    def forward(self, seq):
        h = seq.new_zeros(len(seq), self.hidden)
        for t in range(seq.shape[1]):
            h = self.cell(seq[:, t], h)
        return self.read(h)


def batch(n, length=9):
    bits = torch.randint(0, 2, (n, length))
    seq = torch.stack([2.0 * bits - 1, torch.randn(n, length) * 0.5], -1)
    return seq, (bits.sum(1) > length // 2).long()


torch.manual_seed(39)
net = Elman()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
ce = nn.CrossEntropyLoss()
for step in range(150):
    seq, y = batch(50)
    loss = ce(net(seq), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step:3d}: {loss.item():.3f}")
with torch.no_grad():
    seq, y = batch(400)
    print("accuracy:", (net(seq).argmax(1) == y).float().mean().item())
