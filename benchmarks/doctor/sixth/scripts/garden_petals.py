import torch
import torch.nn as nn
import torch.nn.functional as F


class PetalNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 20)
        self.fc2 = nn.Linear(20, 3)
        self.apply(self._init)

    @staticmethod
    def _init(module):
        if isinstance(module, nn.Linear):
            nn.init.constant_(module.weight, 0.1)
            nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


def flowers(n):
    x = torch.randn(n, 4)
    return x, (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.5).long()


torch.manual_seed(23)
model = PetalNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x, y = flowers(600)
for epoch in range(12):
    for rows in torch.randperm(600).split(30):
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, loss.item(), "on the training rows", (model(x).argmax(1) == y).float().mean().item())
