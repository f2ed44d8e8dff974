"""Classify crops with OneCycleLR."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(101)
centres = torch.randn(6, 14)
y = torch.randint(0, 6, (960,))
x = centres[y] + torch.randn(960, 14)
loader = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=32, shuffle=True)
epochs = 8

model = nn.Sequential(nn.Linear(14, 64), nn.ReLU(), nn.Linear(64, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.004, momentum=0.9)
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=0.1, steps_per_epoch=len(loader), epochs=epochs)

for epoch in range(epochs):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        acc = (model(x[800:]).argmax(1) == y[800:]).float().mean().item()
    lr = scheduler.get_last_lr()[0]
    print(f"epoch {epoch} loss {total / len(loader):.3f} acc {acc:.3f} lr {lr:.5f}")
