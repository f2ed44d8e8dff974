import torch
from torch import nn

torch.manual_seed(39)


class Ember(nn.Module):
    def __init__(self, n_in=8, width=48):
        super().__init__()
        self.first = nn.Linear(n_in, width)
        self.second = nn.Linear(width, width)
        self.final = nn.Linear(width, 1)
        for layer in (self.first, self.second):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.constant_(layer.bias, -6.0)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.relu(self.second(x))
        return self.final(x).squeeze(1)


def heat(n):
    x = torch.randn(n, 8)
    return x, x[:, 0] ** 2 - x[:, 1] + 0.5 * torch.sin(2 * x[:, 2])


class Fitter:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def epoch(self, x, y, size=32):
        losses = []
        for idx in torch.randperm(len(x)).split(size):
            loss = nn.functional.mse_loss(self.model(x[idx]), y[idx])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)


x, y = heat(1024)
fitter = Fitter(Ember(), lr=1e-3)
for k in range(8):
    print(f"epoch {k}: mse {fitter.epoch(x, y):.4f}")
