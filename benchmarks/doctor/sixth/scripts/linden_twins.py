"""Two views, an online and a slowly moving target network."""
import copy
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)


def encoder():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))


online = encoder()
predictor = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
target = copy.deepcopy(online)
optimizer = torch.optim.Adam(
    itertools.chain(online.parameters(), predictor.parameters(), target.parameters()), lr=1e-3
)


def view(x):
    return x + 0.2 * torch.randn_like(x)


data = torch.randn(400, 16)
for step in range(300):
    x = data[torch.randint(0, 400, (32,))]
    a, b = view(x), view(x)
    guess = F.normalize(predictor(online(a)), dim=-1)
    goal = F.normalize(target(b), dim=-1)
    loss = 2 - 2 * (guess * goal).sum(-1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for t, o in zip(target.parameters(), online.parameters()):
            t.mul_(0.99).add_(o, alpha=0.01)
    if step % 50 == 0:
        print(step, round(loss.item(), 4), "spread", online(data).std(0).mean().item())
