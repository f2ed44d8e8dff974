import torch
from torch import nn


class Folder(nn.Module):
    def __init__(self, n_in=8, width=16):
        super().__init__()
        self.inner = nn.Linear(n_in, width)
        self.skip = nn.Linear(n_in, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = torch.tanh(self.inner(x))
        h += self.skip(x)
        return self.out(h)


def letters(n):
    x = torch.randn(n, 8)
    return x, (x[:, :2].prod(1, keepdim=True) + x[:, 2:3]).tanh()


def main():
    torch.manual_seed(0)
    model = Folder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(200):
        x, y = letters(32)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()
