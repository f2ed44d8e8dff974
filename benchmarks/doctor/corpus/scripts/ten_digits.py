"""Seven-segment digits with flipped segments."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

SEGMENTS = torch.tensor(
    [[1, 1, 1, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1, 0], [1, 0, 1, 1, 1, 0, 1], [1, 0, 1, 1, 0, 1, 1],
     [0, 1, 1, 1, 0, 1, 0], [1, 1, 0, 1, 0, 1, 1], [1, 1, 0, 1, 1, 1, 1], [1, 0, 1, 0, 0, 1, 0],
     [1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 1, 1]]
).float()


def digits(n):
    y = torch.randint(0, 10, (n,))
    return (SEGMENTS[y] * 2 - 1) + 0.4 * torch.randn(n, 7), y


class DigitNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(7, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, 10)
        nn.init.normal_(self.head.weight, std=5.0)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(43)
loader = DataLoader(TensorDataset(*digits(800)), batch_size=50, shuffle=True)
x_test, y_test = digits(200)
model = DigitNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    seen = []
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    print(f"epoch {epoch}: first {seen[0]:.2f} mean {sum(seen) / len(seen):.2f}")
with torch.no_grad():
    print("test accuracy", (model(x_test).argmax(1) == y_test).float().mean().item())
