import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Beats(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        t = torch.linspace(-1, 1, 40)
        self.y = torch.randint(0, 3, (n,), generator=g)
        width = torch.tensor([0.08, 0.2, 0.08])[self.y].unsqueeze(1)
        sign = torch.tensor([1.0, 1.0, -1.0])[self.y].unsqueeze(1)
        shift = 0.3 * torch.randn(n, 1, generator=g)
        self.x = 2.5 * sign * torch.exp(-(((t - shift) / width) ** 2)) + 0.4 * torch.randn(n, 40, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i].unsqueeze(0), self.y[i]


def make_model():
    return nn.Sequential(
        nn.Conv1d(1, 10, 7, padding=3), nn.ReLU(), nn.MaxPool1d(4), nn.Flatten(), nn.Linear(100, 24), nn.ReLU(), nn.Linear(24, 3)
    )


def main():
    torch.manual_seed(90)
    train_loader = DataLoader(Beats(480, 1), batch_size=32)
    test_loader = DataLoader(Beats(160, 2), batch_size=80)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    for epoch in range(6):
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader) / 160
        print(f"epoch {epoch}: loss {loss.item():.3f} acc {acc:.2f}")


if __name__ == "__main__":
    main()
