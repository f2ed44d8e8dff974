import torch
import torch.nn as nn


def set_seed(seed):
    torch.manual_seed(seed)


class Album:
    def __init__(self, n):
        self.y = torch.randint(0, 5, (n,))
        self.x = 1.5 * torch.randn(5, 9)[self.y] + torch.randn(n, 9)

    def batches(self, size):
        for idx in torch.randperm(len(self.y)).split(size):
            yield self.x[idx], self.y[idx]


set_seed(1)
album = Album(1500)
model = nn.Sequential(nn.Linear(9, 40), nn.ReLU(), nn.Linear(40, 5))
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(8):
    set_seed(1)
    total, n = 0.0, 0
    for x, y in album.batches(30):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total, n = total + loss.item(), n + 1
    print(f"epoch {epoch}: {total / n:.4f}")
