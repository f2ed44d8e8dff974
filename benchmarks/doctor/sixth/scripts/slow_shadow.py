import copy

import torch
from torch import nn
import torch.nn.functional as F


class Byol(nn.Module):
    def __init__(self, n_in=20, width=32, out=10):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(n_in, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, out))
        self.predictor = nn.Sequential(nn.Linear(out, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, out))
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False

    def half(self, a, b):
        with torch.no_grad():
            goal = self.target(b)
        return 2 - 2 * F.cosine_similarity(self.predictor(self.online(a)), goal, dim=-1).mean()

    def forward(self, a, b):
        return (self.half(a, b) + self.half(b, a)) / 2

    @torch.no_grad()
    def follow(self, momentum=0.98):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.mul_(momentum).add_(o, alpha=1 - momentum)


def main():
    torch.manual_seed(0)
    centres = 1.5 * torch.randn(8, 20)
    model = Byol()
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=2e-3)
    for step in range(200):
        x = centres[torch.randint(0, 8, (32,))] + 0.3 * torch.randn(32, 20)
        loss = model(x + 0.4 * torch.randn_like(x), x + 0.4 * torch.randn_like(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.follow()
        if step % 40 == 0:
            print(step, loss.item())


main()
