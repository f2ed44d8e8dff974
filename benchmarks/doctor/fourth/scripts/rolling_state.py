import torch
import torch.nn as nn


class Rolling(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.hidden = hidden
        self.inp = nn.Linear(3, hidden)
        self.rec = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        b, t, _ = x.shape
        states = torch.zeros(b, t + 1, self.hidden)
        for i in range(t):
            states[:, i + 1] = torch.tanh(self.inp(x[:, i]) + self.rec(states[:, i]))
        return self.out(states[:, -1])


def sequences(n, length=8):
    x = torch.randn(n, length, 3)
    return x, x[:, :, 0].mean(1, keepdim=True)


torch.manual_seed(0)
x, y = sequences(600)
net = Rolling()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    for idx in torch.randperm(len(x)).split(30):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x[idx]), y[idx])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
