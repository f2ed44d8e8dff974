import torch
import torch.nn as nn
import torch.nn.functional as F


class GalaxyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 10, 3, padding=1, bias=False)
        self.b1 = nn.BatchNorm2d(10)
        self.c2 = nn.Conv2d(10, 16, 3, padding=1, bias=False)
        self.b2 = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.b1(self.c1(x))), 2)
        x = F.relu(self.b2(self.c2(x)))
        return self.fc(x.mean((2, 3)))


def sky(n):
    """round, flat and ring shaped blobs"""
    kind = torch.randint(0, 3, (n,))
    gy, gx = torch.meshgrid(torch.linspace(-1, 1, 14), torch.linspace(-1, 1, 14), indexing="ij")
    angle = 3.14 * torch.rand(n, 1, 1)
    u, v = gx * angle.cos() + gy * angle.sin(), -gx * angle.sin() + gy * angle.cos()
    r = (u**2 + v**2).sqrt()
    shapes = torch.stack([torch.exp(-8 * r**2), torch.exp(-4 * u**2 - 40 * v**2), torch.exp(-40 * (r - 0.5) ** 2)], 1)
    img = shapes[torch.arange(n), kind].unsqueeze(1)
    return (img - 0.2) / 0.28 + 0.3 * torch.randn_like(img), kind


def evaluate(net, x, y):
    correct = 0
    with torch.no_grad():
        for xb, yb in zip(x.split(40), y.split(40)):
            correct += (net(xb).argmax(1) == yb).sum().item()
    return correct / len(x)


torch.manual_seed(77)
x, y = sky(400)
x_test, y_test = sky(200)
net = GalaxyNet()
optim = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    for idx in torch.randperm(400).split(40):
        optim.zero_grad()
        loss = F.cross_entropy(net(x[idx]), y[idx])
        loss.backward()
        optim.step()
    print("epoch", epoch, "loss %.3f" % loss.item(), "test", evaluate(net, x_test, y_test))
