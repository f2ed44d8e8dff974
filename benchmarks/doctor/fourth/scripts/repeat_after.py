import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


def traces(n):
    rows = []
    for _ in range(n):
        length = int(torch.randint(4, 30, (1,)))
        phase = 6.28 * torch.rand(1)
        t = torch.arange(length + 1) * 0.4 + phase
        rows.append(torch.sin(t) + 1.5)
    return rows


class NextValue(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.read = nn.Linear(hidden, 1)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return self.read(out)


def batch_of(rows):
    lengths = torch.tensor([len(r) - 1 for r in rows])
    x = pad_sequence([r[:-1] for r in rows], batch_first=True).unsqueeze(-1)
    y = pad_sequence([r[1:] for r in rows], batch_first=True).unsqueeze(-1)
    return x, y, lengths


torch.manual_seed(10)
rows = traces(640)
net = NextValue()
opt = torch.optim.AdamW(net.parameters(), lr=4e-3)
for epoch in range(4):
    total = 0.0
    order = torch.randperm(len(rows)).split(32)
    for idx in order:
        x, y, lengths = batch_of([rows[i] for i in idx.tolist()])
        prediction = net(x, lengths)
        loss = F.mse_loss(prediction, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"{epoch} {total / len(order):.4f}")
