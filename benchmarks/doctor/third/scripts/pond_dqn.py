"""DQN with a soft-updated target."""
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(2)
torch.manual_seed(2)
N, gamma, tau = 9, 0.9, 0.02

q_net = nn.Sequential(nn.Linear(N, 48), nn.ReLU(), nn.Linear(48, 2))
q_target = copy.deepcopy(q_net)
for p in q_target.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(q_net.parameters(), lr=2e-3)
memory, s = [], 0


@torch.no_grad()
def soft_update():
    for p, p_t in zip(q_net.parameters(), q_target.parameters()):
        p_t.data.mul_(1 - tau)
        p_t.data.add_(tau * p.data)


def one_hot(s):
    return F.one_hot(torch.as_tensor(s), N).float()


for t in range(800):
    with torch.no_grad():
        greedy = q_net(one_hot(s)).argmax().item()
    a = random.randint(0, 1) if random.random() < 0.3 else greedy
    s2 = max(0, min(N - 1, s + 2 * a - 1))
    done = s2 == N - 1
    memory.append((s, a, float(done), s2, float(done)))
    s = 0 if done else s2
    if t > 64 and t % 4 == 0:
        bs, ba, br, bs2, bd = map(torch.tensor, zip(*random.sample(memory, 32)))
        q = q_net(one_hot(bs)).gather(1, ba.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            goal = br + gamma * (1 - bd) * q_target(one_hot(bs2)).amax(1)
        loss = F.mse_loss(q, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        soft_update()
with torch.no_grad():
    print(q_net(torch.eye(N)).amax(1))
