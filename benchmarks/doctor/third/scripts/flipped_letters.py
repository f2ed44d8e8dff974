"""Tiny image classifier with augmentation."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Subset

torch.manual_seed(14)
shapes = (torch.rand(5, 1, 14, 14) > 0.5).float()


class Letters(Dataset):
    def __init__(self, n, transform=None):
        self.y = torch.randint(0, 5, (n,))
        self.x = shapes[self.y] + 0.3 * torch.randn(n, 1, 14, 14)
        self.transform = transform

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = self.x[i]
        if self.transform:
            x = self.transform(x)
        return x, self.y[i]


def augment(img):
    dx, dy = torch.randint(-2, 3, (2,)).tolist()
    img = torch.roll(img, (dx, dy), dims=(1, 2))
    r, c = torch.randint(0, 9, (2,)).tolist()
    img = img.clone()
    img[:, r:r + 5, c:c + 5] = 0
    return img + 0.2 * torch.randn_like(img)


full = Letters(700, transform=augment)
order = torch.randperm(len(full)).tolist()
train_set = Subset(full, order[:560])
val_set = Subset(full, order[560:])
train_loader = DataLoader(train_set, batch_size=35, shuffle=True)
val_loader = DataLoader(val_set, batch_size=70)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(3),
    nn.Flatten(), nn.Linear(144, 5),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader)
    print(f"epoch {epoch} val acc {hits / len(val_set):.3f}")
