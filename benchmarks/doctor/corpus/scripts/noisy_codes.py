import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(100)
protos = torch.randn(5, 24)
y = torch.randint(0, 5, (704,))
x = (protos[y] + 1.3 * torch.randn(704, 24)) / 1.6
loader = DataLoader(TensorDataset(x[:560], y[:560]), batch_size=16, shuffle=True)  # 35 batches

model = nn.Sequential(nn.Linear(24, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 5))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
accumulation_steps = 4

for epoch in range(6):
    running = 0.0
    optimizer.zero_grad()
    for i, (xb, yb) in enumerate(loader):
        loss = criterion(model(xb), yb)
        running += loss.item()
        (loss / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: {running / len(loader):.3f}")

with torch.no_grad():
    print("test accuracy", (model(x[560:]).argmax(1) == y[560:]).float().mean().item())
