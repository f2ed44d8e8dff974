import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LadderNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.fc(x)


def huber(prediction, target, delta=1.0):
    error = (prediction - target).abs()
    return torch.where(error < delta, 0.5 * error**2, delta * (error - 0.5 * delta)).mean()


def fit(model, loader, epochs=8, lr=3e-3):
    optimizer = torch.optim.RMSprop(model.parameters(), lr=lr)
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            loss = huber(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch", epoch, "loss", total / len(loader))


torch.manual_seed(2)
x = torch.randn(640, 5)
y = 2 * x[:, 0] - x[:, 1] + 0.5 * x[:, 2] ** 2
fit(LadderNet(), DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True))
