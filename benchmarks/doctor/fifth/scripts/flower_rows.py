import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(8)


class RowNet(nn.Module):
    """Reads an image as eight rows."""

    def __init__(self):
        super().__init__()
        self.rows = nn.Linear(8, 16)
        self.mix = nn.Linear(8 * 16, 64)
        self.last = nn.Linear(64, 10)

    def forward(self, image):
        x = F.relu(self.rows(image))
        x = x.flatten(1)
        for layer in (self.mix, self.last):
            x = F.relu(layer(x))
        return x


def batches(x, y, size, generator):
    for idx in torch.randperm(len(x), generator=generator).split(size):
        yield x[idx], y[idx]


def main():
    bunch = load_digits()
    x = torch.tensor(bunch.images, dtype=torch.float32) / 16.0
    y = torch.tensor(bunch.target)
    cut = 1400
    generator = torch.Generator().manual_seed(1)
    net = RowNet()
    optim = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(6):
        net.train()
        for xb, yb in batches(x[:cut], y[:cut], 64, generator):
            optim.zero_grad()
            loss = F.cross_entropy(net(xb), yb)
            loss.backward()
            optim.step()
        net.eval()
        with torch.no_grad():
            out = net(x[cut:])
            print(epoch, f"{F.cross_entropy(out, y[cut:]):.4f}", f"{(out.argmax(1) == y[cut:]).float().mean():.3f}")


main()
