"""Double DQN on a ring of rooms."""
import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(1)
torch.manual_seed(1)
ROOMS = 10


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(ROOMS, 48), nn.ReLU(), nn.Linear(48, 3))

    def forward(self, s):
        return self.net(F.one_hot(s, ROOMS).float())


class Agent:
    def __init__(self):
        self.q = QNet()
        self.q_target = copy.deepcopy(self.q)
        self.q_target.requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=2e-3)
        self.memory = deque(maxlen=2000)

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(3)
        with torch.no_grad():
            return int(self.q(torch.tensor([s])).argmax())

    def learn(self, gamma=0.9):
        s, a, r, s2 = map(torch.tensor, zip(*random.sample(self.memory, 32)))
        q = self.q(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            best = self.q(s2).argmax(1, keepdim=True)
            goal = r + gamma * self.q_target(s2).gather(1, best).squeeze(1)
        loss = F.smooth_l1_loss(q, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


agent, s = Agent(), 0
for t in range(700):
    a = agent.act(s, eps=max(0.1, 1 - t / 300))
    s2 = (s + a - 1) % ROOMS
    agent.memory.append((s, a, 1.0 if s2 == 5 else 0.0, s2))
    s = s2
    if t > 100 and t % 3 == 0:
        loss = agent.learn()
    if t > 100 and t % 150 == 0:
        print(t, loss)
