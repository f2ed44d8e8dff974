import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2139)


def soundings(n):
    altitude = 200 + 3000 * torch.rand(n)
    pressure = 1013 * torch.exp(-altitude / 8000) + 6 * torch.randn(n)
    temperature = 288 - 0.0065 * altitude + 4 * torch.randn(n)
    humidity = 20 + 70 * torch.rand(n)
    wind = (6 + 3 * torch.randn(n)).abs()
    lift = 0.4 * (temperature - 278) + 0.05 * (humidity - 55) - 0.5 * wind + 0.2 * torch.randn(n)
    return torch.stack([altitude, pressure, temperature, humidity, wind], dim=1), lift


x, lift = soundings(800)
mean, std = lift.mean(), lift.std()
dataset = TensorDataset(x, ((lift - mean) / std).unsqueeze(1))
loader = DataLoader(dataset, batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

for epoch in range(8):
    total = 0.0
    for features, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(features), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: mse {total / len(loader):.4f}")

x, lift = soundings(200)
with torch.no_grad():
    error = (model(x).squeeze(1) * std + mean - lift).abs().mean()
print("mean error of the ascent rate", error.item())
