import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class SpiceRack(Dataset):
    """Spectra of eight spices, stored jar by jar."""

    def __init__(self, per_class, seed):
        g = torch.Generator().manual_seed(seed)
        peaks = torch.rand(8, 20, generator=torch.Generator().manual_seed(5)) * 2
        self.spectra, self.names = [], []
        for jar in range(8):
            for _ in range(per_class):
                self.spectra.append(peaks[jar] + 0.5 * torch.randn(20, generator=g))
                self.names.append(jar)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        return self.spectra[i], self.names[i]


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(SpiceRack(80, 0), batch_size=20)
    test_loader = DataLoader(SpiceRack(20, 1), batch_size=40)
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(8):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(train_loader):.4f} test {accuracy(model, test_loader):.3f}")


main()
