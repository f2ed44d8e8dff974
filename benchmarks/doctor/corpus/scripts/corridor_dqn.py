"""Q-learning in a corridor of nine cells."""
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    def __init__(self, cells=9):
        self.cells = cells

    def reset(self):
        self.s = random.randrange(self.cells - 1)
        return self.s

    def step(self, a):
        self.s = max(0, min(self.cells - 1, self.s + (1 if a else -1)))
        done = self.s == self.cells - 1
        return self.s, float(done), done


def encode(states):
    return F.one_hot(torch.as_tensor(states), 9).float() * 3 - 0.33


random.seed(0)
torch.manual_seed(157)
env = Corridor()
q = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 2))
target = copy.deepcopy(q).requires_grad_(False)
optimizer = torch.optim.Adam(q.parameters(), lr=3e-3)
buffer, losses, s = [], [], env.reset()
for t in range(1200):
    eps = max(0.1, 1 - t / 800)
    with torch.no_grad():
        a = random.randrange(2) if random.random() < eps else q(encode([s])).argmax().item()
    s2, r, done = env.step(a)
    buffer.append((s, a, r, s2, float(done)))
    s = env.reset() if done else s2
    if len(buffer) >= 64 and t % 2 == 0:
        bs, ba, br, bs2, bd = map(list, zip(*random.sample(buffer, 32)))
        with torch.no_grad():
            goal = torch.tensor(br) + 0.9 * (1 - torch.tensor(bd)) * target(encode(bs2)).max(1).values
        chosen = q(encode(bs)).gather(1, torch.tensor(ba).unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(chosen, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if t % 50 == 0:
        target.load_state_dict(q.state_dict())
    if t % 200 == 199:
        print(f"t {t + 1}: td loss {sum(losses[-50:]) / 50:.4f}")
with torch.no_grad():
    print("policy", q(encode(list(range(8)))).argmax(1).tolist())
