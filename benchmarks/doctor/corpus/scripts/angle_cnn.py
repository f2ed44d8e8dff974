import torch
import torch.nn as nn
import torch.nn.functional as F


class AngleNet(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 12, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2))
        self.body = nn.Sequential(nn.Conv2d(12, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.classifier = nn.Linear(16, n_classes)

    def forward(self, x):
        return self.classifier(self.body(self.stem(x)))


def lines(n):
    y = torch.randint(0, 4, (n,))
    theta = y.float() * 3.14159 / 4 + 0.1 * torch.randn(n)
    gy, gx = torch.meshgrid(torch.linspace(-1, 1, 12), torch.linspace(-1, 1, 12), indexing="ij")
    d = gx * theta.sin().view(-1, 1, 1) - gy * theta.cos().view(-1, 1, 1)
    img = torch.exp(-((d / 0.2) ** 2)).unsqueeze(1)
    return (img - img.mean()) / img.std() + 0.3 * torch.randn_like(img), y


torch.manual_seed(35)
net = AngleNet()
for p in net.stem.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=5e-3)

x_train, y_train = lines(320)
x_test, y_test = lines(120)
for epoch in range(6):
    for idx in torch.randperm(320).split(32):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, round(loss.item(), 3), (net(x_test).argmax(1) == y_test).float().mean().item())
