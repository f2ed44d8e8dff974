import torch
from torch import nn

torch.manual_seed(0)
low = torch.tensor([900.0, -20.0, 0.0, 10.0])
high = torch.tensor([1100.0, 35.0, 100.0, 400.0])


def weather(n):
    x = low + (high - low) * torch.rand(n, 4)
    u = (x - low) / (high - low)
    return x, u[:, :1] * 2 - u[:, 1:2] * u[:, 2:3] + 0.05 * torch.randn(n, 1)


model = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x, y = weather(960)
x_test, y_test = weather(200)
for epoch in range(12):
    model.train()
    total = 0.0
    for rows in torch.randperm(960).split(32):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 30
    model.eval()
    with torch.no_grad():
        print(f"epoch {epoch} train {total:.4f} test {nn.functional.mse_loss(model(x_test), y_test).item():.4f}")
