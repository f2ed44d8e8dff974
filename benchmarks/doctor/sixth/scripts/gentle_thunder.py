"""Tell storms apart by short pressure traces."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES = 12


class Storms(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 5, stride=2)
        self.conv2 = nn.Conv1d(16, 32, 5, stride=2)
        self.norm = nn.LayerNorm(32)
        self.classifier = nn.Linear(32, CLASSES)
        nn.init.normal_(self.classifier.weight, std=5.0)

    def forward(self, trace):
        x = F.relu(self.conv1(trace))
        x = F.relu(self.conv2(x))
        return self.classifier(self.norm(x.mean(-1)))


def traces(n):
    y = torch.randint(0, CLASSES, (n,))
    t = torch.linspace(0, 1, 60)
    x = torch.sin(2 * math.pi * (2 + y[:, None]) * t + 6.28 * torch.rand(n, 1)) + 0.2 * torch.randn(n, 60)
    return x[:, None], y


torch.manual_seed(14)
model = Storms()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x_train, y_train = traces(768)
x_val, y_val = traces(192)
for epoch in range(8):
    total = 0.0
    for rows in torch.randperm(768).split(32):
        loss = F.cross_entropy(model(x_train[rows]), y_train[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        held = F.cross_entropy(model(x_val), y_val).item()
    print(f"epoch {epoch}: train {total / 24:.3f} val {held:.3f}")
