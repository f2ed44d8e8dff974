import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(6)


class WineNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(11, 64, bias=False), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, 64, bias=False), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 5))

    def forward(self, x):
        return self.layers(x)


x = torch.randn(2600, 11)
quality = x[:, 0] + 0.8 * x[:, 1] * x[:, 2] - 0.6 * x[:, 3] + 0.2 * torch.randn(2600)
grade = torch.bucketize(quality, torch.tensor([-1.3, -0.4, 0.4, 1.3]))
parts = random_split(TensorDataset(x, grade), [2000, 300, 300])
train = DataLoader(parts[0], batch_size=200, shuffle=True, drop_last=True)
valid, test = (DataLoader(p, batch_size=300) for p in parts[1:])


def accuracy(net, loader):
    net.eval()
    with torch.no_grad():
        hits = [(net(a).argmax(1) == b).float().mean().item() for a, b in loader]
    return sum(hits) / len(hits)


net = WineNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=4, T_mult=2, eta_min=5e-4)
best, best_state = 0.0, None
for epoch in range(12):
    net.train()
    for i, (a, b) in enumerate(train):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(a), b)
        loss.backward()
        optimizer.step()
        scheduler.step(epoch + (i + 1) / len(train))
    score = accuracy(net, valid)
    if score > best:
        best, best_state = score, copy.deepcopy(net.state_dict())
    print(f"epoch {epoch:2d}: loss {loss.item():.3f} validation {score:.3f}")
net.load_state_dict(best_state)
print(f"test accuracy {accuracy(net, test):.3f}")
