import torch
from torch import nn


class PriceModel:
    def __init__(self, columns, hidden=64):
        self.model = nn.Sequential(nn.Linear(columns, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.loss = nn.MSELoss()

    def fit(self, x, y, epochs=12, batch=64):
        for epoch in range(epochs):
            total = 0.0
            for idx in torch.randperm(len(x)).split(batch):
                self.optimizer.zero_grad()
                loss = self.loss(self.model(x[idx]), y[idx])
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(idx)
            if epoch % 3 == 0:
                print(f"epoch {epoch:2d}: mse {total / len(x):.3f}")

    def score(self, x, y):
        with torch.no_grad():
            return self.loss(self.model(x), y).item()


def cars(n, seed):
    g = torch.Generator().manual_seed(seed)
    year = torch.randint(1995, 2024, (n, 1), generator=g).float()
    km = 180_000 * torch.rand(n, 1, generator=g)
    power = 60 + 140 * torch.rand(n, 1, generator=g)
    price = 0.08 * (year - 2009) - 1.2 * (km / 90_000 - 1) + 0.01 * (power - 130)
    x = torch.cat([year, km, power], dim=1)
    return x, price + 0.1 * torch.randn(n, 1, generator=g)


torch.manual_seed(71)
x, y = cars(640, 0)
model = PriceModel(3)
model.fit(x, y)
print("test mse", model.score(*cars(160, 1)))
