import torch
import torch.nn as nn


class Standardiser:
    def fit_transform(self, x):
        self.mean, self.std = x.mean(0), x.std(0)
        return self.transform(x)

    def transform(self, x):
        return (x - self.mean) / self.std


def engines(n, hours, seed):
    g = torch.Generator().manual_seed(seed)
    age = hours * torch.rand(n, 1, generator=g)
    sensors = torch.randn(n, 7, generator=g) * 3 + 40 + age * torch.linspace(0.2, 2, 7)
    wear = 0.5 * age + 0.1 * (sensors[:, :1] - 40) + 0.1 * torch.randn(n, 1, generator=g)
    return sensors, wear


torch.manual_seed(3)
train_x, train_y = engines(1600, hours=10.0, seed=1)
val_x, val_y = engines(300, hours=4.0, seed=2)
scaler = Standardiser()
train_x = scaler.fit_transform(train_x)
val_x = scaler.fit_transform(val_x)

model = nn.Sequential(nn.Linear(7, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(10):
    model.train()
    for idx in torch.randperm(len(train_x)).split(32):
        loss = nn.functional.mse_loss(model(train_x[idx]), train_y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        val_loss = nn.functional.mse_loss(model(val_x), val_y)
    print(f"epoch {epoch} train {loss.item():.3f} val {val_loss.item():.3f}")
