import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class BasicBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        nn.init.zeros_(self.bn2.weight)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(h)))


class ResNet(nn.Module):
    def __init__(self, classes=4, channels=12, blocks=3):
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, padding=1)
        self.blocks = nn.Sequential(*(BasicBlock(channels) for _ in range(blocks)))
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        return self.fc(self.blocks(F.relu(self.stem(x))).mean((2, 3)))


def gratings(n):
    y = torch.randint(0, 4, (n,))
    a = y.float().view(n, 1, 1) * 0.785
    gy, gx = torch.meshgrid(torch.arange(10.0), torch.arange(10.0), indexing="ij")
    wave = torch.sin(1.5 * (gx * a.cos() + gy * a.sin()) + 6.28 * torch.rand(n, 1, 1))
    return 1.2 * wave.unsqueeze(1) + 0.5 * torch.randn(n, 1, 10, 10), y


torch.manual_seed(116)
train = DataLoader(TensorDataset(*gratings(320)), batch_size=32, shuffle=True)
test_x, test_y = gratings(120)
model = ResNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(5):
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.3f} test {acc:.2f}")
