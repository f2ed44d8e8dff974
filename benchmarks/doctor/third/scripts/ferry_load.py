"""Predict ferry load; a class with fit and validate."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Runner:
    def __init__(self, model, train_loader, val_loader):
        self.model = model
        self.train_loader, self.val_loader = train_loader, val_loader
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.criterion = nn.MSELoss()

    def validate(self):
        self.model.eval()
        total = 0
        for x, y in self.val_loader:
            pred = self.model(x)
            total += self.criterion(pred, y)
        return total / len(self.val_loader)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in self.train_loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
            val = self.validate()
            print(f"epoch {epoch} train {loss.item():.4f} val {val:.4f}")


torch.manual_seed(191)
x = torch.randn(1000, 7)
y = (x[:, :3].prod(1, keepdim=True) + x[:, 3:4]).tanh()
train_loader = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=40, shuffle=True)
val_loader = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=20)
model = nn.Sequential(nn.Linear(7, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1))
Runner(model, train_loader, val_loader).fit(5)
