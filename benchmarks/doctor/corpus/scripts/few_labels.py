"""Semi-supervised two moons with an averaged teacher."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def moons(n):
    t, y = torch.rand(n) * math.pi, torch.randint(0, 2, (n,))
    x = torch.stack([t.cos() * (1 - 2 * y) + y - 0.5, t.sin() * (1 - 2 * y) + 0.5 * y - 0.25], 1)
    return 1.4 * (x + 0.08 * torch.randn(n, 2)), y


class MeanTeacher:
    def __init__(self, decay=0.95):
        self.student = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
        self.teacher = copy.deepcopy(self.student)
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.decay = decay
        self.optimizer = torch.optim.Adam(self.student.parameters(), lr=5e-3)

    def step(self, labelled, target, unlabelled, weight):
        with torch.no_grad():
            guess = self.teacher(unlabelled + 0.1 * torch.randn_like(unlabelled)).softmax(1)
        supervised = F.cross_entropy(self.student(labelled), target)
        consistency = F.mse_loss(self.student(unlabelled).softmax(1), guess)
        loss = supervised + weight * consistency
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for t, s in zip(self.teacher.parameters(), self.student.parameters()):
                t.mul_(self.decay).add_(s, alpha=1 - self.decay)
        return supervised.item(), consistency.item()


torch.manual_seed(120)
mt = MeanTeacher()
few_x, few_y = moons(24)
for i in range(200):
    sup, con = mt.step(few_x, few_y, moons(64)[0], weight=min(1.0, i / 100) * 3)
    if i % 40 == 0:
        print(f"{i:3d} supervised {sup:.3f} consistency {con:.4f}")
x, y = moons(400)
with torch.no_grad():
    print("teacher accuracy", (mt.teacher(x).argmax(1) == y).float().mean().item())
