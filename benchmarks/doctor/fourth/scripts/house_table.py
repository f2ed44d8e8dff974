import torch
import torch.nn as nn

torch.manual_seed(0)
COLUMNS = ["area", "rooms", "age", "distance", "floor", "price"]


def read_table(n=1500):
    area = 40 + 120 * torch.rand(n)
    rooms = (area / 30).round() + torch.randint(0, 2, (n,))
    age = 80 * torch.rand(n)
    distance = 20 * torch.rand(n)
    floor = torch.randint(0, 9, (n,)).float()
    price = 3 * area + 8 * rooms - 0.8 * age - 4 * distance + 30 * torch.randn(n)
    return torch.stack([area, rooms, age, distance, floor, price], dim=1)


table = read_table()
table = (table - table[:1200].mean(0)) / table[:1200].std(0)
features = table[:, : len(COLUMNS)]
target = table[:, [COLUMNS.index("price")]]
x_train, x_test = features[:1200], features[1200:]
y_train, y_test = target[:1200], target[1200:]

model = nn.Sequential(nn.Linear(features.shape[1], 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()
for epoch in range(10):
    model.train()
    for idx in torch.randperm(len(x_train)).split(30):
        optimizer.zero_grad()
        loss = loss_fn(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(f"epoch {epoch}: test mse {loss_fn(model(x_test), y_test).item():.5f}")
