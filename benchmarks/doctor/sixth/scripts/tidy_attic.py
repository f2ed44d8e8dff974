import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.first = nn.Linear(sizes[0], sizes[1])
        self.hidden = [nn.Linear(a, b) for a, b in zip(sizes[1:-2], sizes[2:-1])]
        self.last = nn.Linear(sizes[-2], sizes[-1])

    def forward(self, x):
        x = torch.relu(self.first(x))
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.last(x)


def boxes(n):
    x = torch.rand(n, 6) * 2 - 1
    y = torch.sin(3 * x[:, :1]) * x[:, 1:2] + x[:, 2:3] ** 2
    return x, y


torch.manual_seed(10)
net = Stack([6, 32, 32, 32, 32, 1])
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(700):
    x, y = boxes(40)
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step:4d} loss {loss.item():.5f}")
x, y = boxes(400)
with torch.no_grad():
    print("test", nn.functional.mse_loss(net(x), y).item())
