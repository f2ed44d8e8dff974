import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.trunk(x))


def materials(n, seed, classes):
    protos = torch.randn(classes, 20, generator=torch.Generator().manual_seed(seed))
    y = torch.randint(0, classes, (n,))
    return (protos[y] + 1.2 * torch.randn(n, 20)) / 1.5, y


def fit(net, x, y, epochs, lr):
    trainable = [p for p in net.parameters() if p.requires_grad]
    opt = torch.optim.Adam(trainable, lr=lr)
    for epoch in range(epochs):
        total = 0.0
        for i in torch.randperm(len(x)).split(40):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x[i]), y[i])
            loss.backward()
            opt.step()
            total += loss.item() * len(i)
        print(f"  epoch {epoch}: {total / len(x):.3f}")


torch.manual_seed(114)
net = Net(8)
print("source task")
fit(net, *materials(800, 1, 8), epochs=4, lr=2e-3)

# keep the features, learn the three new materials from few samples
net.trunk.requires_grad_(False)
net.head = nn.Linear(64, 3)
print("target task")
fit(net, *materials(120, 2, 3), epochs=8, lr=5e-3)
x, y = materials(300, 2, 3)
with torch.no_grad():
    print("accuracy", (net(x).argmax(1) == y).float().mean().item())
