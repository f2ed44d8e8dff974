import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 48), nn.ReLU())
        self.head = nn.Linear(48, classes)

    def forward(self, x):
        return self.head(self.body(x))


def epoch(model, opt, x, y):
    total = 0.0
    for idx in torch.randperm(len(x)).split(50):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    return total / len(x)


torch.manual_seed(0)
x = torch.randn(2000, 12)
coarse = (x @ torch.randn(12, 3)).argmax(1)
fine = (x @ torch.randn(12, 8)).argmax(1)
model = Net(3)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for e in range(3):
    print("coarse", e, round(epoch(model, optimizer, x, coarse), 4))
model.head = nn.Linear(48, 8)
before = model.head.weight.detach().clone()
for e in range(5):
    print("fine", e, round(epoch(model, optimizer, x, fine), 4))
