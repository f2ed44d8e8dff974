import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


def make_bars(n):
    """8x8 images holding a horizontal (0) or vertical (1) bar."""
    imgs = 0.3 * torch.randn(n, 1, 8, 8)
    y = torch.randint(0, 2, (n,))
    pos = torch.randint(0, 8, (n,))
    for k in range(n):
        if y[k] == 0:
            imgs[k, 0, pos[k]] += 1.5
        else:
            imgs[k, 0, :, pos[k]] += 1.5
    return (imgs - imgs.mean()) / imgs.std(), y


class BarNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 4, 2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


x, y = make_bars(320)
xt, yt = make_bars(100)
model = BarNet()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(4):
    for idx in torch.randperm(len(x)).split(32):
        out = model(x[idx])
        loss = F.cross_entropy(out, y[idx])
        loss.backward()
        opt.zero_grad()
        opt.step()
    with torch.no_grad():
        acc = (model(xt).argmax(-1) == yt).float().mean().item()
    print("epoch {} loss {:.3f} acc {:.2f}".format(epoch, loss.item(), acc))
