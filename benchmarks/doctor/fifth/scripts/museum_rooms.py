import torch
import torch.nn as nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

torch.manual_seed(47)
ROOMS = 5
centres = 1.2 * torch.randn(ROOMS, 16)


def room(label, n):
    x = centres[label] + torch.randn(n, 16)
    return TensorDataset(x, torch.full((n,), label))


train_set = ConcatDataset([room(k, 200) for k in range(ROOMS)])
test_set = ConcatDataset([room(k, 60) for k in range(ROOMS)])
train_loader = DataLoader(train_set, batch_size=25)
test_loader = DataLoader(test_set, batch_size=100)


class Guide(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, 48), nn.ReLU())
        self.exit = nn.Linear(48, ROOMS)

    def forward(self, x):
        return self.exit(self.trunk(x))


guide = Guide()
optimizer = torch.optim.SGD(guide.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    guide.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(guide(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    guide.eval()
    with torch.no_grad():
        hits = sum((guide(x).argmax(1) == y).sum().item() for x, y in test_loader)
    print(f"epoch {epoch}: loss {running / len(train_loader):.3f} test {hits / len(test_set):.3f}")
