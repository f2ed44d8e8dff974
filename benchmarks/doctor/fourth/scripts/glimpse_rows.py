import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Stripes(Dataset):
    """Height x width x channel arrays, as an image reader would give them."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.label = torch.randint(0, 3, (n,), generator=g)
        self.image = 0.8 * torch.rand(n, 16, 16, 3, generator=g)
        for i, c in enumerate(self.label.tolist()):
            row = int(torch.randint(2, 12, (1,), generator=g))
            self.image[i, row : row + 3, :, c] += 0.4

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        image = self.image[i].view(3, 16, 16)
        return image, self.label[i]


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 12, 3, padding=1)
        self.c2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 16, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


def main(args):
    torch.manual_seed(args.seed)
    loader = DataLoader(Stripes(1000, 1), batch_size=args.batch, shuffle=True)
    model = ConvNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
