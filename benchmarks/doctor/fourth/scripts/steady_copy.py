import copy

import torch
import torch.nn as nn


class Average:
    def __init__(self, model, decay=0.99):
        self.decay, self.steps = decay, 0
        self.shadow = copy.deepcopy(model).requires_grad_(False).eval()

    @torch.no_grad()
    def update(self, model):
        self.steps += 1
        keep = min(self.decay, (1 + self.steps) / (10 + self.steps))
        for mine, theirs in zip(self.shadow.parameters(), model.parameters()):
            mine.lerp_(theirs, 1 - keep)
        for mine, theirs in zip(self.shadow.buffers(), model.buffers()):
            mine.copy_(theirs)


def blobs(n):
    y = torch.randint(0, 6, (n,))
    centres = 1.6 * torch.randn(6, 10, generator=torch.Generator().manual_seed(0))
    return centres[y] + torch.randn(n, 10), y


torch.manual_seed(1)
x, y = blobs(2400)
xv, yv = blobs(600)
model = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 6))
ema = Average(model)
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    model.train()
    for idx in torch.randperm(len(x)).split(40):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(model)
    with torch.no_grad():
        print(epoch, f"{(ema.shadow(xv).argmax(1) == yv).float().mean():.3f}")
