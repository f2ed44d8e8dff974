import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Bowls(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 9, (n,), generator=g)
        means = torch.randn(9, 14, generator=torch.Generator().manual_seed(99))
        self.x = means[self.y] + 0.7 * torch.randn(n, 14, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Classifier(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(14, hidden), nn.ReLU(), nn.Linear(hidden, 9))

    def forward(self, x):
        return self.net(x)

    def predict_proba(self, x):
        return self.forward(x).softmax(dim=-1)


def train(model, loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        hits = 0
        for x, y in loader:
            probs = model.predict_proba(x)
            loss = criterion(probs, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hits += (probs.argmax(1) == y).sum().item()
        print(f"{epoch}: {loss.item():.4f} {hits / len(loader.dataset):.3f}")


torch.manual_seed(0)
train(Classifier(), DataLoader(Bowls(2000, 1), batch_size=40, shuffle=True), epochs=5, lr=0.05)
