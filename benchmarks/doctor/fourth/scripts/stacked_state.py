import torch
import torch.nn as nn


class Cell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.mix = nn.Linear(inputs + hidden, hidden)

    def forward(self, x, h):
        z = self.mix(torch.cat([x, h], dim=1))
        z += 0.1
        return torch.tanh(z)


class Roller(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.hidden = hidden
        self.cell = Cell(3, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h = x.new_zeros(len(x), self.hidden)
        states = []
        for step in x.unbind(1):
            h = self.cell(step, h)
            states.append(h)
        return self.out(torch.stack(states, 1).mean(1))


torch.manual_seed(0)
x = torch.randn(800, 8, 3)
y = x[:, :, 0].mean(1, keepdim=True)
net = Roller()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    for idx in torch.randperm(len(x)).split(40):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x[idx]), y[idx])
        loss.backward()
        opt.step()
    print(epoch, f"{loss.item():.5f}")
