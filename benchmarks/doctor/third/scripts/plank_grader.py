"""Grade planks by their grain."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Grader(nn.Module):
    def __init__(self, classes=8):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.fc1 = nn.Linear(64, 32)
        self.fc2 = nn.Linear(32, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return x


torch.manual_seed(131)
protos = torch.randn(8, 1, 14, 14)
y = torch.randint(0, 8, (800,))
x = protos[y] + torch.randn(800, 1, 14, 14)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = Grader()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(4):
    correct = 0
    for xb, yb in loader:
        out = model(xb)
        loss = criterion(out, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (out.argmax(1) == yb).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {correct / 800:.3f}")
