import copy

import torch
from sklearn.datasets import load_digits
from torch import nn


class Averaged:
    def __init__(self, model, decay=0.9999):
        self.decay = decay
        self.module = copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for mean, value in zip(self.module.parameters(), model.parameters()):
            mean.mul_(self.decay).add_(value, alpha=1 - self.decay)


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    d = load_digits()
    x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.LayerNorm(64), nn.Linear(64, 10))
    average = Averaged(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(4):
        for idx in torch.randperm(1500).split(50):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            average.update(model)
        print(f"epoch {epoch}: loss {loss.item():.3f} test {accuracy(average.module, x[1500:], y[1500:]):.3f}")


main()
