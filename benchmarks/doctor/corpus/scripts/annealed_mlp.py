import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(16)
x = torch.randn(1200, 3)
y = (x.norm(dim=1) > 1.54).long()  # inside or outside of a ball
loader = DataLoader(TensorDataset(x[:960], y[:960]), batch_size=24, shuffle=True)

model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scheduler = ExponentialLR(optimizer, gamma=0.9)

for epoch in range(8):
    losses = []
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    print(f"epoch {epoch + 1}: mean loss {sum(losses) / len(losses):.4f}")

with torch.no_grad():
    print("test accuracy:", (model(x[960:]).argmax(1) == y[960:]).float().mean().item())
