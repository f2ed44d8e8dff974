import copy

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch import nn

torch.manual_seed(9)
digits = load_digits()
data = torch.tensor(digits.data, dtype=torch.float32) / 16


def augment(x):
    return x * (torch.rand_like(x) > 0.25) + 0.1 * torch.randn_like(x)


online = nn.Sequential(nn.Linear(64, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Linear(96, 32))
predictor = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
slow = copy.deepcopy(online)
for p in slow.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=2e-3)


def similarity_loss(a, b):
    with torch.no_grad():
        goal = F.normalize(slow(b), dim=1)
    guess = F.normalize(predictor(online(a)), dim=1)
    return 2 - 2 * (guess * goal).sum(1).mean()


def probe():
    online.eval()
    with torch.no_grad():
        codes = online(data).numpy()
    online.train()
    clf = LogisticRegression(max_iter=60).fit(codes[:1000], digits.target[:1000])
    return clf.score(codes[1000:], digits.target[1000:])


for epoch in range(5):
    for batch in data[torch.randperm(1000)].split(100):
        a, b = augment(batch), augment(batch)
        loss = similarity_loss(a, b) + similarity_loss(b, a)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for s, o in zip(slow.parameters(), online.parameters()):
                s.mul_(0.95).add_(o, alpha=0.05)
    print(f"epoch {epoch}: loss {loss.item():.4f}")
print(f"linear probe {probe():.3f}")
