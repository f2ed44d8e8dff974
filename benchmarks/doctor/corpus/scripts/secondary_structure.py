import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Residues(Dataset):
    """Windows of one-hot residues; the class depends on the middle three."""

    def __init__(self, n, seed, kinds=6, window=7):
        g = torch.Generator().manual_seed(seed)
        codes = torch.randint(0, kinds, (n, window), generator=g)
        self.x = (nn.functional.one_hot(codes, kinds).float().flatten(1) - 1 / kinds) * 2.5
        self.y = (codes[:, 2:5].sum(1) // 6).clamp(max=2)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class StructureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(42, 64), nn.ReLU(), nn.Linear(64, 3))
        self.prob = nn.Softmax(dim=1)

    def forward(self, x):
        return self.prob(self.mlp(x))


class Fit:
    def __init__(self, model, lr):
        self.model = model
        self.criterion = nn.NLLLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def epoch(self, loader):
        total = 0.0
        for x, y in loader:
            loss = self.criterion(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(loader)

    @torch.no_grad()
    def accuracy(self, loader):
        hits = [(self.model(x).argmax(1) == y).float().mean() for x, y in loader]
        return torch.stack(hits).mean().item()


if __name__ == "__main__":
    torch.manual_seed(54)
    train = DataLoader(Residues(600, 0), batch_size=60, shuffle=True)
    test = DataLoader(Residues(180, 1), batch_size=60)
    fit = Fit(StructureNet(), lr=0.05)
    for e in range(8):
        loss = fit.epoch(train)
        print(f"epoch {e}: loss {loss:.3f} test accuracy {fit.accuracy(test):.2f}")
