import copy

import torch
import torch.nn as nn

torch.manual_seed(18)


class Loom(nn.Module):
    def __init__(self, classes=8):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.features(x))


def patterns(n, prototypes, noise=0.7):
    y = torch.randint(0, len(prototypes), (n,))
    return prototypes[y] + noise * torch.randn(n, 20), y


def run(model, optimizer, x, y, epochs):
    for _ in range(epochs):
        for idx in torch.randperm(len(x)).split(32):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


base = Loom()
x, y = patterns(960, torch.randn(8, 20))
print("first task", run(base, torch.optim.Adam(base.parameters(), lr=2e-3), x, y, 4))

model = copy.deepcopy(base)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
model.head = nn.Linear(32, 5)
protos = torch.randn(5, 20)
x2, y2 = patterns(320, protos)
xv, yv = patterns(300, protos)
for epoch in range(5):
    model.train()
    loss = run(model, optimizer, x2, y2, 1)
    model.eval()
    with torch.no_grad():
        acc = (model(xv).argmax(1) == yv).float().mean().item()
    print(f"second task {epoch}: loss {loss:.3f} acc {acc:.3f}")
