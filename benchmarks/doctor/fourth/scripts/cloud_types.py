import torch
import torch.nn as nn
import torch.nn.functional as F


class Clouds(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(1, 8, 3, padding=1)
        self.b = nn.Linear(8 * 16, 4)

    def forward(self, x):
        return self.b(F.max_pool2d(F.relu(self.a(x)), 2).flatten(1))


class Loop:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def compute(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        return loss.item()

    def apply(self):
        self.optimizer.zero_grad()
        self.optimizer.step()


torch.manual_seed(0)
y = torch.randint(0, 4, (1200,))
x = torch.randn(4, 1, 8, 8)[y] + torch.randn(1200, 1, 8, 8)
model = Clouds()
loop = Loop(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
for epoch in range(4):
    losses = []
    for idx in torch.randperm(1200).split(40):
        losses.append(loop.compute(x[idx], y[idx]))
        loop.apply()
    print(epoch, sum(losses) / len(losses))
