import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Experiment:
    def __init__(self, model, optimizer, train_loader, valid_loader):
        self.model = model
        self.optimizer = optimizer
        self.train_loader = train_loader
        self.valid_loader = valid_loader
        self.criterion = nn.CrossEntropyLoss()

    def train_epoch(self):
        total = 0.0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hits = count = 0
        for x, y in self.valid_loader:
            hits += (self.model(x).argmax(1) == y).sum().item()
            count += len(y)
        return hits / count

    def run(self, epochs):
        self.model.train()
        for epoch in range(epochs):
            loss = self.train_epoch()
            print(f"epoch {epoch}: loss {loss:.4f} val acc {self.validate():.3f}")


torch.manual_seed(5)
data = load_digits()
x = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
y = torch.tensor(data.target)
perm = torch.randperm(len(x))
train_loader = DataLoader(TensorDataset(x[perm[:1400]], y[perm[:1400]]), batch_size=40, shuffle=True)
valid_loader = DataLoader(TensorDataset(x[perm[1400:]], y[perm[1400:]]), batch_size=100)
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1, bias=False),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Dropout(0.4),
    nn.Linear(256, 10),
)
Experiment(model, torch.optim.Adam(model.parameters(), lr=2e-3), train_loader, valid_loader).run(5)
