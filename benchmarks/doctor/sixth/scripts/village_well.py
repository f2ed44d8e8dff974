import torch
from torch import nn


class Well(nn.Module):
    def __init__(self, depth=10, width=32):
        super().__init__()
        sizes = [6] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        for layer in self.layers:
            x = torch.sigmoid(layer(x))
        return self.head(x)


def water(n):
    x = torch.randn(n, 6)
    return x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long()


def main():
    torch.manual_seed(0)
    model = Well()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = water(640)
    for epoch in range(10):
        for rows in torch.randperm(640).split(32):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            accuracy = (model(x).argmax(1) == y).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} train accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
