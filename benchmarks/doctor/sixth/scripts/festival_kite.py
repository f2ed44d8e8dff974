"""Kites against the sky."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def augment(image):
    if torch.rand(()) < 0.5:
        image = image.flip(-1)
    image = image + 0.3 * torch.randn_like(image)
    column = int(torch.randint(0, 8, ()))
    image[..., column : column + 4] = 0
    return image


class Kites(Dataset):
    def __init__(self, n, seed, transform=None):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 3, (n,), generator=g)
        self.images = 0.8 * torch.randn(n, 1, 12, 12, generator=g)
        for i, c in enumerate(self.labels.tolist()):
            self.images[i, 0, 4 * c : 4 * c + 4] += 0.3
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i].clone()
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[i]


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(Kites(320, 0, transform=augment), batch_size=32, shuffle=True)
    val_loader = DataLoader(Kites(96, 1, transform=augment), batch_size=48)
    model = nn.Sequential(nn.Flatten(), nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(6):
        model.train()
        for images, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
        model.eval()
        hits = 0
        with torch.no_grad():
            for images, labels in val_loader:
                hits += (model(images).argmax(1) == labels).sum().item()
        print(f"epoch {epoch} loss {loss.item():.4f} validation accuracy {hits / 96:.3f}")


main()
