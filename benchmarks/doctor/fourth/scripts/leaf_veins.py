import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Veins(Dataset):
    def __init__(self, images, labels, augment):
        self.images, self.labels, self.augment = images, labels, augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i]
        if self.augment:
            if torch.rand(()) < 0.5:
                image = image.flip(-1)
            image = image + 0.3 * torch.randn_like(image)
        return image, self.labels[i]


def make(n):
    y = torch.randint(0, 4, (n,))
    shapes = torch.randn(4, 1, 12, 12)
    return shapes[y] + 0.4 * torch.randn(n, 1, 12, 12), y


def conv_net():
    return nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(96, 4),
    )


if __name__ == "__main__":
    torch.manual_seed(6)
    x, y = make(1500)
    train = DataLoader(Veins(x[:1200], y[:1200], augment=True), batch_size=40, shuffle=True)
    valid = DataLoader(Veins(x[1200:], y[1200:], augment=False), batch_size=100)
    net = conv_net()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for epoch in range(4):
        net.train()
        for xb, yb in train:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(xb), yb)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            acc = sum((net(xb).argmax(1) == yb).sum() for xb, yb in valid) / 300
        print(f"{epoch}: {acc:.3f}")
