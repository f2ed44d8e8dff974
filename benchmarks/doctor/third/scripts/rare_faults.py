"""Find rare faults with weighted cross entropy."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(161)
n = 1200
y = (torch.rand(n) < 0.08).long() + 2 * (torch.rand(n) < 0.04).long()
y = y.clamp(max=2)
x = torch.randn(n, 8)
x[:, 0] += 1.5 * (y == 1)
x[:, 1] += 1.5 * (y == 2)

counts = torch.bincount(y, minlength=3).float()
weights = counts / counts.sum()
criterion = nn.CrossEntropyLoss(weight=weights)

loader = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=50, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(6):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        pred = model(x[1000:]).argmax(1)
    truth = y[1000:]
    recall = [(pred[truth == c] == c).float().mean().item() for c in range(3)]
    print(epoch, f"loss {loss.item():.4f}", [round(r, 2) for r in recall])
