import math

import torch
import torch.nn as nn


class Birds(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.head = nn.Linear(128, classes)
        self.head.weight.data.normal_(0, 2.0)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(0)
y = torch.randint(0, 10, (3000,))
x = torch.randn(10, 20)[y] * 1.2 + torch.randn(3000, 20)
model = Birds()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
print(f"guessing: {math.log(10):.3f}")
for epoch in range(5):
    total, parts = 0.0, torch.randperm(len(x)).split(60)
    for i, idx in enumerate(parts):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if epoch == 0 and i == 0:
            print(f"first: {loss.item():.3f}")
    print(f"epoch {epoch}: {total / len(parts):.4f}")
