import torch
import torch.nn as nn


class Meter:
    def __init__(self):
        self.sum = 0.0
        self.n = 0

    def update(self, value, n):
        self.sum += value * n
        self.n += n

    def mean(self):
        return self.sum / self.n


def net():
    return nn.Sequential(nn.Linear(30, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 5))


def train_epoch(model, opt, x, y, meter):
    for idx in torch.randperm(len(x)).split(40):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        meter.update(loss, len(idx))


def main():
    torch.manual_seed(1)
    x = torch.randn(4000, 30)
    y = (x @ torch.randn(30, 5)).argmax(1)
    model = net()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    meter = Meter()
    for epoch in range(5):
        train_epoch(model, opt, x, y, meter)
        print(f"epoch {epoch}: running mean {meter.mean():.4f}")


if __name__ == "__main__":
    main()
