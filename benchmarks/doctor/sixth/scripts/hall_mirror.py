import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MirrorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU())
        self.up = nn.Sequential(nn.ConvTranspose2d(8, 1, 2, stride=2))

    def forward(self, x):
        return self.up(self.down(x))


def images(n):
    base = torch.rand(n, 1, 16, 1) * torch.rand(n, 1, 1, 16)
    return TensorDataset(base, base.flip(-1))


def main():
    torch.manual_seed(0)
    loader = DataLoader(images(480), batch_size=24, shuffle=True)
    net = MirrorNet()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    for epoch in range(5):
        epoch_loss = 0
        for i, (image, target) in enumerate(loader):
            optimizer.zero_grad()
            output = net(image)
            loss = criterion(output, target)
            loss.backward()
            optimizer.step()
            epoch_loss += loss
        print("epoch", epoch, "loss", (epoch_loss / len(loader)).item())


main()
