import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(35)


def caravans(n):
    load = torch.rand(n, 5)
    cost = 3 * load[:, 0] * load[:, 1] + load[:, 2] ** 2 - 2 * load[:, 3] + torch.sin(4 * load[:, 4])
    return (load - 0.5) * 3.4, (cost + 0.05 * torch.randn(n)).unsqueeze(1)


class AccumulatingTrainer:
    def __init__(self, model, accumulate=8, lr=0.08):
        self.model = model
        self.accumulate = accumulate
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.loss_fn = nn.MSELoss()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            total = 0.0
            self.optimizer.zero_grad()
            for i, (x, y) in enumerate(loader, start=1):
                loss = self.loss_fn(self.model(x), y)
                loss.backward()
                total += loss.item()
                if i % self.accumulate == 0 or i == len(loader):
                    self.optimizer.step()
                    self.optimizer.zero_grad()
            print(f"epoch {epoch}: mse {total / len(loader):.4f}")


x, y = caravans(1280)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(5, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
AccumulatingTrainer(model).fit(loader, epochs=6)
