import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(55)
n = 640
area = 40 + 110 * torch.rand(n)
rooms = (area / 28).round() + torch.randint(-1, 2, (n,))
age = 80 * torch.rand(n)
rent = 9.5 * area - 2.1 * age + 30 * rooms + 40 * torch.randn(n)

features = torch.stack([area, rooms, age], dim=1)
features = (features - features.mean(0)) / features.std(0)
rent = (rent - rent.mean()) / rent.std()

train_set = TensorDataset(features[:512], rent[:512])
loader = DataLoader(train_set, batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(10):
    total = 0.0
    for x, y in loader:
        pred = model(x)
        loss = loss_fn(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.3f}")

with torch.no_grad():
    rmse = (model(features[512:]).squeeze(1) - rent[512:]).pow(2).mean().sqrt()
print(f"test rmse (in standard deviations): {rmse:.3f}")
