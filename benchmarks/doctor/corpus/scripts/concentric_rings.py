import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
ACCUM = 4

# points on rings of different radius
n = 1024
y = torch.randint(0, 4, (n,))
angle = torch.rand(n) * 6.283
r = 0.5 + 0.5 * y + 0.08 * torch.randn(n)
x = torch.stack([r * angle.cos(), r * angle.sin()], dim=1)

loader = DataLoader(TensorDataset(x[:768], y[:768]), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

# effective batch 64, the machine only fits 16
for epoch in range(10):
    total = 0.0
    optimizer.zero_grad()
    for step, (xb, yb) in enumerate(loader):
        loss = loss_fn(model(xb), yb)
        loss.backward()
        if (step + 1) % ACCUM == 0:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.item()
    print(f"{epoch:2d}  {total / len(loader):.4f}")

with torch.no_grad():
    print("accuracy", (model(x[768:]).argmax(1) == y[768:]).float().mean().item())
