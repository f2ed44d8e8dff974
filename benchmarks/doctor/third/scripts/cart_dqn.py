"""DQN on a tiny corridor."""
import random

import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)
LENGTH = 8


def encode(s):
    return nn.functional.one_hot(torch.as_tensor(s), LENGTH).float()


def env_step(s, a):
    s2 = min(max(s + (1 if a == 1 else -1), 0), LENGTH - 1)
    return s2, float(s2 == LENGTH - 1), s2 == LENGTH - 1


def make_net():
    return nn.Sequential(nn.Linear(LENGTH, 32), nn.ReLU(), nn.Linear(32, 2))


online, target = make_net(), make_net()
target.load_state_dict(online.state_dict())
optimizer = torch.optim.Adam(list(online.parameters()) + list(target.parameters()), lr=1e-3)
memory, s, gamma = [], 0, 0.95

for t in range(600):
    if random.random() < 0.3:
        a = random.randint(0, 1)
    else:
        with torch.no_grad():
            a = online(encode(s)).argmax().item()
    s2, r, done = env_step(s, a)
    memory.append((s, a, r, s2, float(done)))
    s = 0 if done else s2
    if len(memory) < 64 or t % 4:
        continue
    bs, ba, br, bs2, bd = map(torch.tensor, zip(*random.sample(memory, 32)))
    q = online(encode(bs)).gather(1, ba[:, None]).squeeze(1)
    goal = br + gamma * (1 - bd) * target(encode(bs2)).max(1).values
    loss = nn.functional.smooth_l1_loss(q, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if t % 200 == 0:
        target.load_state_dict(online.state_dict())
print(online(torch.eye(LENGTH)).max(1).values.detach())
