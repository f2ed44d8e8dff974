"""Tiny image classifier, augmentation on the training part only."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Subset

torch.manual_seed(15)
shapes = (torch.rand(5, 1, 14, 14) > 0.5).float()
labels = torch.randint(0, 5, (700,))
images = shapes[labels] + 0.3 * torch.randn(700, 1, 14, 14)


class Digits(Dataset):
    def __init__(self, transform=None):
        self.transform = transform

    def __len__(self):
        return len(labels)

    def __getitem__(self, i):
        x = images[i]
        if self.transform is not None:
            x = self.transform(x)
        return x, labels[i]


def augment(img):
    shift = torch.randint(-1, 2, (2,)).tolist()
    return torch.roll(img, shift, dims=(1, 2)) + 0.1 * torch.randn_like(img)


order = torch.randperm(700).tolist()
train_loader = DataLoader(Subset(Digits(augment), order[:560]), batch_size=35, shuffle=True)
val_loader = DataLoader(Subset(Digits(), order[560:]), batch_size=70)

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
    print(f"epoch {epoch} val acc {hits / 140:.3f}")
