import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader, TensorDataset


def lifts(n):
    x = torch.randn(n, 10)
    y = (x[:, :5].sum(1) * x[:, 5] > 0).long() + (x[:, 6] > 0.5).long()
    return TensorDataset(x, y)


class LiftTrainer:
    def __init__(self):
        self.model = nn.Sequential(
            nn.Linear(10, 64), nn.LayerNorm(64), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.scheduler = ExponentialLR(self.optimizer, gamma=0.8)

    def train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(loader)

    def accuracy(self, loader):
        self.model.eval()
        hits = 0
        with torch.no_grad():
            for x, y in loader:
                hits += (self.model(x).argmax(1) == y).sum().item()
        return hits / len(loader.dataset)

    def fit(self, train, test, epochs=11):
        for epoch in range(epochs):
            self.scheduler.step()
            loss = self.train_epoch(train)
            lr = self.scheduler.get_last_lr()[0]
            print(f"epoch {epoch} lr {lr:.4f} loss {loss:.3f} accuracy {self.accuracy(test):.3f}")


torch.manual_seed(2129)
train = DataLoader(lifts(800), batch_size=50, shuffle=True)
test = DataLoader(lifts(200), batch_size=100)
LiftTrainer().fit(train, test)
