"""Predict bread quality from oven readings."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Standardiser:
    def fit_transform(self, x):
        self.mean, self.std = x.mean(0), x.std(0)
        return self.transform(x)

    def transform(self, x):
        return (x - self.mean) / self.std


def readings(n):
    x = torch.randn(n, 5) * torch.tensor([5.0, 9.0, 0.5, 30.0, 4.0]) + torch.tensor([210.0, 65.0, 4.3, 40.0, 12.0])
    y = 0.1 * (x[:, 0] - 210) - 0.05 * (x[:, 1] - 65) + 0.4 * torch.sin(x[:, 4])
    return x, y.unsqueeze(1) + 0.1 * torch.randn(n, 1)


torch.manual_seed(32)
x_train, y_train = readings(800)
x_val, y_val = readings(200)
sx, sy = Standardiser(), Standardiser()
x_train, y_train = sx.fit_transform(x_train), sy.fit_transform(y_train)
x_val, y_val = sx.transform(x_val), sy.transform(y_val)

loader = DataLoader(TensorDataset(x_train, y_train), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(x_val), y_val).item()
    print(f"epoch {epoch} train {loss.item():.4f} val {val:.4f}")
