"""Rare leaks in a pipeline, from standardised flow readings."""
import math
import torch
import torch.nn as nn


class LeakDetector(nn.Module):
    def __init__(self, inputs=12, hidden=48, prior=0.01):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(inputs, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )
        bias = -math.log((1 - prior) / prior)
        for layer in self.net:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.constant_(layer.bias, bias)

    def forward(self, x):
        return self.net(x).squeeze(-1)


def readings(n):
    x = torch.randn(n, 12)
    leak = (x[:, 0] * x[:, 1] + x[:, 2] > 2.2).float()
    return x, leak


def focal(logit, y, gamma=1.5):
    ce = nn.functional.binary_cross_entropy_with_logits(logit, y, reduction="none")
    return ((1 - torch.exp(-ce)) ** gamma * ce).mean()


torch.manual_seed(2105)
x, y = readings(1600)
vx, vy = readings(400)
detector = LeakDetector()
opt = torch.optim.Adam(detector.parameters(), lr=2e-3)
for epoch in range(6):
    total = 0.0
    for idx in torch.randperm(len(x)).split(80):
        opt.zero_grad()
        loss = focal(detector(x[idx]), y[idx])
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    with torch.no_grad():
        found = (detector(vx) > 0)[vy == 1].float().mean()
    print(f"epoch {epoch} focal {total / len(x):.4f} recall {found:.3f}")
