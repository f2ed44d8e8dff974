import torch
import torch.nn as nn


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.constant_(m.weight, 0.05)
        nn.init.zeros_(m.bias)


class Votes5(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(10, 32)
        self.two = nn.Linear(32, 32)
        self.three = nn.Linear(32, 5)
        self.apply(init_weights)

    def forward(self, x):
        x = torch.relu(self.one(x))
        x = torch.relu(self.two(x))
        return self.three(x)


torch.manual_seed(0)
x = torch.randn(2000, 10)
y = (x @ torch.randn(10, 5)).argmax(1)
model = Votes5()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    total = 0.0
    for idx in torch.randperm(len(x)).split(40):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, round(total / 50, 4))
