import torch
import torch.nn as nn


class Bells(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(20, 64)
        self.mid = nn.Linear(64, 64)
        self.out = nn.Linear(64, 1)
        for layer in (self.inp, self.mid):
            nn.init.normal_(layer.weight, std=6.0)

    def forward(self, x):
        x = torch.tanh(self.inp(x))
        x = torch.tanh(self.mid(x))
        return self.out(x)


def fit(model, x, y, epochs=6, batch=40):
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(x)).split(batch):
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        print(f"{epoch}: {total / len(x):.4f}")


torch.manual_seed(0)
x = torch.randn(2000, 20)
y = torch.sin(x[:, :1]) + 0.5 * x[:, 1:2]
fit(Bells(), x, y)
