import copy

import torch
import torch.nn as nn


class Pooled:
    def __init__(self, model, decay=0.999):
        self.decay = decay
        self.module = copy.deepcopy(model).eval()
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for slow, fast in zip(self.module.parameters(), model.parameters()):
            slow.mul_(1 - self.decay).add_(fast, alpha=self.decay)


def blobs(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 6, (n,), generator=g)
    centres = 1.6 * torch.randn(6, 10, generator=torch.Generator().manual_seed(0))
    return centres[y] + torch.randn(n, 10, generator=g), y


def main():
    torch.manual_seed(1)
    x, y = blobs(3000, 1)
    xv, yv = blobs(600, 2)
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 6))
    average = Pooled(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(5):
        model.train()
        for idx in torch.randperm(len(x)).split(30):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            average.update(model)
        with torch.no_grad():
            acc = (average.module(xv).argmax(1) == yv).float().mean()
        print(f"epoch {epoch}: averaged weights {acc:.3f}")


main()
