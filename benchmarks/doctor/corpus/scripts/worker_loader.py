import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Tones(Dataset):
    """Each item is generated when it is asked for."""

    def __init__(self, n, offset):
        self.n, self.offset = n, offset

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.offset + i)
        y = int(torch.randint(0, 3, (1,), generator=g))
        t = torch.arange(32).float()
        x = torch.sin((0.4, 0.8, 1.5)[y] * t + 6.28 * torch.rand(1, generator=g))
        return 1.3 * x + 0.3 * torch.randn(32, generator=g), y


class ToneNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 9)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x.unsqueeze(1))).amax(-1))


def main():
    torch.manual_seed(172)
    train = DataLoader(Tones(320, 0), batch_size=32, shuffle=True, num_workers=1, persistent_workers=True)
    test = DataLoader(Tones(120, 10_000), batch_size=60)
    net = ToneNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(4):
        total = 0.0
        for x, y in train:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() / len(train)
        print(f"epoch {epoch}: {total:.3f}")
    with torch.no_grad():
        hits = sum((net(x).argmax(1) == y).sum().item() for x, y in test)
    print("test accuracy", hits / 120)


if __name__ == "__main__":
    main()
