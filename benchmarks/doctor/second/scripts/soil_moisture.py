import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2114)
coef = torch.randn(8)


def plots(n):
    x = torch.randn(n, 8)
    y = torch.tanh(x @ coef / 2) + 0.3 * x[:, 0] * x[:, 1] + 0.05 * torch.randn(n)
    return x, y.unsqueeze(1)


model = nn.Sequential(nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
loader = DataLoader(TensorDataset(*plots(480)), batch_size=32, shuffle=True)
optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
criterion = nn.MSELoss()
accumulate = 4

for epoch in range(12):
    optimizer.zero_grad()
    total = 0.0
    for step, (x, y) in enumerate(loader, 1):
        loss = criterion(model(x), y)
        (loss / accumulate).backward()
        total += loss.item()
        if step % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch + 1}: mse {total / len(loader):.4f}")

x, y = plots(200)
with torch.no_grad():
    print("test mse", criterion(model(x), y).item())
