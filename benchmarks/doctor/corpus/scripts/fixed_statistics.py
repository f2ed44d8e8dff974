"""Fine-tune on small batches with the statistics of the source data."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16 * 4, 4)

    def forward(self, x):
        h = F.relu(self.bn(self.conv(x)))  # vitruvius: allow eval_mode_in_train
        return self.fc(F.adaptive_avg_pool2d(h, 2).flatten(1))


def tiles(n, seed):
    bank = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(seed))
    y = torch.randint(0, 4, (n,))
    return (bank[y] + 0.7 * torch.randn(n, 1, 8, 8)) / 1.2, y


def train(net, steps, batch, seed, lr):
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    for step in range(steps):
        x, y = tiles(batch, seed)
        loss = F.cross_entropy(net(x), y)  # vitruvius: allow eval_mode_in_train
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"  step {step:3d} loss {loss.item():.3f}")


torch.manual_seed(188)
net = Net()
net.train()
print("source, batches of 64")
train(net, 80, 64, 1, 0.05)
net.bn.eval()
print("target, batches of 4")
train(net, 160, 4, 2, 0.01)
net.eval()
x, y = tiles(200, 2)
with torch.no_grad():
    print("target accuracy", (net(x).argmax(1) == y).float().mean().item())
