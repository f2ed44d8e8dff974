import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def grouped(loader, size):
    group = []
    for batch in loader:
        group.append(batch)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


torch.manual_seed(0)
x = torch.randn(1900, 16)
y = (x @ torch.randn(16, 5)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(5):
    running = 0.0
    for group in grouped(loader, 8):
        rows = sum(len(yb) for _, yb in group)
        optimizer.zero_grad()
        for xb, yb in group:
            loss = nn.functional.cross_entropy(model(xb), yb, reduction="sum") / rows
            loss.backward()
            running += loss.item() * rows
        optimizer.step()
    print(f"epoch {epoch}: {running / len(x):.4f}")
