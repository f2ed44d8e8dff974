"""Knots, cracks and stains on planks."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def planks(n):
    y = torch.randint(0, 3, (n,))
    grain = torch.sin(torch.arange(14) * 0.9)[None, :].expand(14, 14)
    img = grain + 0.8 * torch.randn(n, 1, 14, 14)
    img[y == 0, :, 5:9, 5:9] += 1.6
    img[y == 1, :, :, 7] += 1.6
    return img / 1.1, y


class DefectNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveAvgPool2d(3),
            nn.Flatten(), nn.Dropout(0.4), nn.Linear(216, 3),
        )

    def forward(self, x):
        return self.net(x)


def evaluate(model, loader):
    model.eval
    hits, count = 0, 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
            count += len(y)
    return hits / count


torch.manual_seed(2138)
train_loader = DataLoader(TensorDataset(*planks(480)), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(*planks(160)), batch_size=32)
model = DefectNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} test {evaluate(model, test_loader):.3f}")
