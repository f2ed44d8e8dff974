import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2110)


def caps(n):
    """ringed, spotted or plain caps in three colour channels"""
    y = torch.randint(0, 3, (n,))
    r = torch.arange(12) - 5.5
    radius = (r[:, None] ** 2 + r**2).sqrt()
    ring = torch.cos(radius * 2.0)
    spots = torch.cos(r * 2.2)[:, None] * torch.cos(r * 2.2)
    pattern = torch.stack([ring, spots, torch.zeros(12, 12)])[y]
    colour = torch.randn(n, 3, 1, 1) * 0.3
    return (pattern[:, None] + colour + 0.9 * torch.randn(n, 3, 12, 12)), y


class CapNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(128, 3))

    def forward(self, x):
        return self.classifier(self.features(x))


train_loader = DataLoader(TensorDataset(*caps(480)), batch_size=40, shuffle=True)
val_loader = DataLoader(TensorDataset(*caps(160)), batch_size=80)
model = CapNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

model.train()
for epoch in range(5):
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()

    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in val_loader:
            correct += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch} train loss {total / len(train_loader):.3f} val acc {correct / 160:.3f}")
