import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Subset


class Leaves(Dataset):
    def __init__(self, n, transform=None):
        g = torch.Generator().manual_seed(4)
        self.y = torch.randint(0, 4, (n,), generator=g)
        shapes = torch.randn(4, 1, 12, 12, generator=g)
        self.x = shapes[self.y] + 0.4 * torch.randn(n, 1, 12, 12, generator=g)
        self.transform = transform

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = self.x[i]
        if self.transform is not None:
            x = self.transform(x)
        return x, self.y[i]


def jitter(x):
    if torch.rand(()) < 0.5:
        x = x.flip(-1)
    shift = int(torch.randint(-2, 3, ()))
    return x.roll(shift, dims=-2) + 0.5 * torch.randn_like(x)


torch.manual_seed(2)
full = Leaves(1600, transform=jitter)
order = torch.randperm(len(full)).tolist()
train_loader = DataLoader(Subset(full, order[:1280]), batch_size=32, shuffle=True)
val_loader = DataLoader(Subset(full, order[1280:]), batch_size=64)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(144, 4),
)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    model.train()
    for x, y in train_loader:
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in val_loader:
            right += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch}: val {right / 320:.3f}")
