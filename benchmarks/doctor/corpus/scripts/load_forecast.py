import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor:
    """Small wrapper in the style of the usual fit/predict classes."""

    def __init__(self, inputs, hidden=32, lr=0.05, epochs=9):
        self.net = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=lr, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=3, gamma=0.5)
        self.loss = nn.MSELoss()
        self.epochs = epochs

    def fit(self, x, y):
        loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
        for epoch in range(self.epochs):
            self.scheduler.step()
            total = 0.0
            for xb, yb in loader:
                self.optimizer.zero_grad()
                loss = self.loss(self.net(xb), yb)
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            lr = self.optimizer.param_groups[0]["lr"]
            print(f"epoch {epoch} lr {lr:.4f} mse {total / len(loader):.4f}")
        return self

    def predict(self, x):
        with torch.no_grad():
            return self.net(x)


torch.manual_seed(12)
hour = torch.rand(480, 1) * 24
temp = torch.randn(480, 1)
features = torch.cat([torch.sin(hour / 24 * 6.283), torch.cos(hour / 24 * 6.283), temp], 1)
load = 0.8 * features[:, :1] + 0.3 * temp**2 - 0.3 + 0.05 * torch.randn(480, 1)

reg = Regressor(3).fit(features[:384], load[:384])
print("test mse", (reg.predict(features[384:]) - load[384:]).pow(2).mean().item())
