"""Classify alarm logs with a GRU and attention over its states."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, states):
        weight = torch.softmax(self.score(states), dim=0)
        return (weight * states).sum(dim=1)


class AlarmNet(nn.Module):
    def __init__(self, codes=20, dim=32, classes=3):
        super().__init__()
        self.embed = nn.Embedding(codes, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.pool = AttentionPool(dim)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, codes):
        states, _ = self.gru(self.embed(codes))
        return self.out(self.norm(self.pool(states)))


def logs(n):
    """the class is told by which of three code pairs turns up"""
    codes = torch.randint(6, 20, (n, 12))
    y = torch.randint(0, 3, (n,))
    where = torch.randint(0, 11, (n,))
    r = torch.arange(n)
    codes[r, where] = 2 * y
    codes[r, where + 1] = 2 * y + 1
    return codes, y


torch.manual_seed(2117)
train = DataLoader(TensorDataset(*logs(640)), batch_size=32, shuffle=True)
test = DataLoader(TensorDataset(*logs(128)), batch_size=64)
model = AlarmNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    model.train()
    for codes, y in train:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(codes), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(c).argmax(1) == y).sum().item() for c, y in test)
    print(f"epoch {epoch} loss {loss.item():.3f} accuracy {hits / 128:.3f}")
