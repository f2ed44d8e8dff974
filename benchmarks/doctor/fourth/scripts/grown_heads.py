import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 48), nn.ReLU())
        self.head = nn.Linear(48, classes)

    def forward(self, x):
        return self.head(self.body(x))


def stage(model, x, y, epochs, lr):
    opt = torch.optim.Adam(
        [{"params": model.body.parameters(), "lr": lr}, {"params": model.head.parameters(), "lr": 3 * lr}]
    )
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(x)).split(50):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        print(epoch, round(total / len(x), 4))


torch.manual_seed(0)
x = torch.randn(2000, 12)
model = Net(3)
stage(model, x, (x @ torch.randn(12, 3)).argmax(1), epochs=3, lr=2e-3)
model.head = nn.Linear(48, 8)
stage(model, x, (x @ torch.randn(12, 8)).argmax(1), epochs=5, lr=1e-3)
