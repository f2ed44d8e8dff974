"""Train a call classifier on common birds, then reuse its features for rare ones."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def calls(n, pitches):
    y = torch.randint(0, len(pitches), (n,))
    t = torch.arange(48).float()
    f = torch.tensor(pitches)[y].unsqueeze(1) * (1 + 0.03 * torch.randn(n, 1))
    x = torch.sin(f * t + 2 * math.pi * torch.rand(n, 1)) * 1.3 + 0.4 * torch.randn(n, 48)
    return x.unsqueeze(1), y


class Features(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv1d(1, 24, 11), nn.BatchNorm1d(24), nn.ReLU(),
                         nn.Conv1d(24, 32, 5), nn.BatchNorm1d(32), nn.ReLU(),
                         nn.AdaptiveMaxPool1d(1), nn.Flatten())


def fit(features, head, params, data, epochs, lr, fixed=False):
    opt = torch.optim.Adam(params, lr=lr)
    x, y = data
    for epoch in range(epochs):
        features.train(not fixed)
        head.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(50):
            opt.zero_grad()
            loss = F.cross_entropy(head(features(x[idx])), y[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx) / len(x)
        print(f"  epoch {epoch}: {total:.3f}")


@torch.no_grad()
def accuracy(features, head, data):
    features.eval()
    head.eval()
    return (head(features(data[0])).argmax(1) == data[1]).float().mean().item()


torch.manual_seed(77)
common, rare = [0.3, 0.6, 0.9, 1.3, 1.8], [0.45, 0.75, 1.1]
features, head = Features(), nn.Linear(32, len(common))
fit(features, head, [*features.parameters(), *head.parameters()], calls(600, common), 4, 3e-3)
print("common birds:", accuracy(features, head, calls(300, common)))

features.requires_grad_(False)
new_head = nn.Linear(32, len(rare))
fit(features, new_head, new_head.parameters(), calls(300, rare), 6, 1e-2, fixed=True)
print("rare birds:", accuracy(features, new_head, calls(300, rare)))
