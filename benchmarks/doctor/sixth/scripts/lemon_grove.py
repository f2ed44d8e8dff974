import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class GroveDataset(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        centres = torch.randn(8, 16, generator=torch.Generator().manual_seed(0))
        self.y = torch.randint(0, 8, (n,), generator=g)
        self.x = centres[self.y] + 0.6 * torch.randn(n, 16, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 40)
        self.fc2 = nn.Linear(40, 8)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return self.softmax(self.fc2(x))


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
    return correct / len(loader.dataset)


def run():
    torch.manual_seed(0)
    train_loader = DataLoader(GroveDataset(640, 1), batch_size=32, shuffle=True)
    test_loader = DataLoader(GroveDataset(160, 2), batch_size=80)
    model = Classifier()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(6):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item(), evaluate(model, test_loader))


run()
