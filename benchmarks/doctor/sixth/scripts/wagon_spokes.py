import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, train, val, epochs, max_lr):
        self.model, self.train, self.val, self.epochs = model, train, val, epochs
        self.optimizer = torch.optim.SGD(model.parameters(), lr=max_lr, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=max_lr, epochs=epochs, steps_per_epoch=len(train)
        )

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    def fit(self):
        for epoch in range(self.epochs):
            self.model.train()
            losses = [self.step(x, y) for x, y in self.train]
            print(f"{epoch} loss {sum(losses) / len(losses):.4f} val {self.accuracy():.3f}")

    @torch.no_grad()
    def accuracy(self):
        self.model.eval()
        return sum((self.model(x).argmax(1) == y).sum().item() for x, y in self.val) / len(self.val.dataset)


def spokes(n):
    x = torch.randn(n, 2)
    return TensorDataset(x, ((torch.atan2(x[:, 0], x[:, 1]) + 3.1416) / 6.2833 * 6).long())


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 6))
Trainer(net, DataLoader(spokes(960), 32, shuffle=True), DataLoader(spokes(240), 80), 10, 0.2).fit()
