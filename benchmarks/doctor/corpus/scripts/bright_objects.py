import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 9, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def pictures(n):
    """12x12 colour pictures, one channel brighter than the others"""
    y = torch.randint(0, 3, (n,))
    img = torch.randint(60, 200, (n, 3, 12, 12))
    img[torch.arange(n), y] += 15
    return img.float(), y


torch.manual_seed(70)
train = DataLoader(TensorDataset(*pictures(384)), batch_size=32, shuffle=True)
test_x, test_y = pictures(120)
model = ConvNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(4):
    for x, y in train:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.3f} acc {acc:.2f}")
