import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class HiveNet(nn.Module):
    def __init__(self, channels=3, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(channels, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 2)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def hives(n, hours=16):
    """does the hive swarm? the temperature climbs late if it does"""
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, hours, 3)
    ramp = torch.linspace(0, 1, hours) ** 2
    x[:, :, 0] += 2.0 * ramp * (2 * y[:, None] - 1)
    return x, y


def train(model, loader, optimizer, epochs):
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(1, epochs + 1):
        model.train()
        optimizer.zero_grad()
        total, seen = 0.0, 0
        for x, y in loader:
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            seen += len(y)
        print(f"Epoch {epoch}/{epochs} - loss: {total / seen:.4f}")


torch.manual_seed(2142)
loader = DataLoader(TensorDataset(*hives(600)), batch_size=30, shuffle=True)
model = HiveNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
train(model, loader, optimizer, epochs=5)
model.eval()
x, y = hives(200)
with torch.no_grad():
    print("Accuracy:", (model(x).argmax(1) == y).float().mean().item())
