import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
signal = torch.randn(400, 12)
weights = torch.randn(12, 1) / 12**0.5
target = torch.tanh(signal @ weights) + 0.05 * torch.randn(400, 1)
train = TensorDataset(signal[:320], target[:320])

loader = DataLoader(train, batch_size=32, shuffle=True)  # 10 batches
f = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = optim.Adam(f.parameters(), lr=1e-2)
mse = nn.MSELoss()
every = 4

for epoch in range(15):
    optimizer.zero_grad()
    total = 0.0
    for i, (s, t) in enumerate(loader):
        loss = mse(f(s), t)
        (loss / every).backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.item()
    if epoch % 3 == 0:
        print(f"epoch {epoch}: {total / len(loader):.4f}")

with torch.no_grad():
    print("test error", mse(f(signal[320:]), target[320:]).item())
