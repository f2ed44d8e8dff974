import copy

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(24)


def mlp(sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU()]
    return nn.Sequential(*layers[:-2])


class Pond(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = mlp([64, 64, 32])
        self.predictor = mlp([32, 32, 32])
        self.target = copy.deepcopy(self.online)

    def forward(self, a, b):
        guess = F.normalize(self.predictor(self.online(a)), dim=1)
        goal = F.normalize(self.target(b), dim=1)
        return 2 - 2 * (guess * goal).sum(1).mean()

    @torch.no_grad()
    def update_target(self, decay=0.98):
        for slow, fast in zip(self.target.parameters(), self.online.parameters()):
            slow.lerp_(fast, 1 - decay)


def view(x):
    keep = (torch.rand_like(x) > 0.2).float()
    return x * keep + 0.1 * torch.randn_like(x)


x = torch.tensor(load_digits().data[:1400], dtype=torch.float32) / 16
pond = Pond()
optimizer = torch.optim.Adam(pond.parameters(), lr=2e-3)
for epoch in range(6):
    pond.train()
    for batch in x[torch.randperm(len(x))].split(70):
        loss = pond(view(batch), view(batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pond.update_target()
    pond.eval()
    with torch.no_grad():
        spread = F.normalize(pond.online(x), dim=1).std(0).mean().item()
    print(f"epoch {epoch}: loss {loss.item():.4f} spread {spread:.4f}")
