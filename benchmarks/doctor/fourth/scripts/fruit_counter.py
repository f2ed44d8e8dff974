import torch
import torch.nn as nn


def fruit(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 8, (n,), generator=g)
    means = torch.randn(8, 15, generator=torch.Generator().manual_seed(77))
    return means[y] + 0.6 * torch.randn(n, 15, generator=g), y


class Counter:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(15, 64), nn.ReLU(), nn.Linear(64, 8))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=2e-3)

    def train(self, x, y):
        self.model.train()
        for idx in torch.randperm(len(x)).split(32):
            loss = nn.functional.cross_entropy(self.model(x[idx]), y[idx])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

    def test(self, x, y):
        self.model.eval()
        right = 0
        with torch.no_grad():
            for xb, yb in zip(x.split(8), y.split(8)):
                guess = self.model(xb).argmax(dim=0)
                right += (guess == yb).sum().item()
        return right / len(x)


torch.manual_seed(0)
counter = Counter()
xt, yt = fruit(1600, 1)
xv, yv = fruit(400, 2)
for epoch in range(5):
    counter.train(xt, yt)
    print(f"epoch {epoch}: accuracy {counter.test(xv, yv):.3f}")
