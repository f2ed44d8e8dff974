import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def mixup(x, y, classes, alpha=0.2):
    share = torch.distributions.Beta(alpha, alpha).sample()
    other = torch.randperm(len(x))
    soft = F.one_hot(y, classes).float()
    return share * x + (1 - share) * x[other], share * soft + (1 - share) * soft[other]


def make(n, g):
    y = torch.randint(0, 5, (n,), generator=g)
    means = torch.randn(5, 12, generator=torch.Generator().manual_seed(1))
    return means[y] + torch.randn(n, 12, generator=g), y


class BestWeights:
    def __init__(self):
        self.score, self.state = -1.0, None

    def offer(self, score, model):
        if score > self.score:
            self.score, self.state = score, copy.deepcopy(model.state_dict())


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    (x, y), (xv, yv) = make(2000, g), make(400, g)
    model = nn.Sequential(nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 5))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    best = BestWeights()
    for epoch in range(6):
        model.train()
        for idx in torch.randperm(len(x)).split(50):
            xm, ym = mixup(x[idx], y[idx], 5)
            loss = F.cross_entropy(model(xm), ym, label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            score = (model(xv).argmax(1) == yv).float().mean().item()
        best.offer(score, model)
        print(epoch, round(score, 3))
    model.load_state_dict(best.state)


main()
