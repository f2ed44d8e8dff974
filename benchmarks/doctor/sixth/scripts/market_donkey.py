"""Q-learning on a corridor of nine cells; the right end pays."""
import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

CELLS, GAMMA = 9, 0.9


def encode(cell):
    v = torch.zeros(CELLS)
    v[cell] = 1
    return v


class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(CELLS, 24), nn.ReLU(), nn.Linear(24, 2))
        self.target = copy.deepcopy(self.q)
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=5e-3)
        self.memory = deque(maxlen=500)

    def act(self, cell, epsilon):
        if random.random() < epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.q(encode(cell)).argmax())

    def learn(self):
        batch = random.sample(self.memory, 32)
        s, a, r, s2, done = zip(*batch)
        s, s2 = torch.stack([encode(c) for c in s]), torch.stack([encode(c) for c in s2])
        a, r, done = torch.tensor(a), torch.tensor(r), torch.tensor(done, dtype=torch.float32)
        with torch.no_grad():
            goal = r + GAMMA * (1 - done) * self.target(s2).max(1).values
        value = self.q(s).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(value, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


random.seed(0)
torch.manual_seed(0)
agent = Agent()
steps = 0
for episode in range(60):
    cell, loss = random.randrange(CELLS - 1), 0.0
    for _ in range(25):
        action = agent.act(cell, max(0.1, 1 - episode / 40))
        following = min(CELLS - 1, cell + 1) if action else max(0, cell - 1)
        done = following == CELLS - 1
        agent.memory.append((cell, action, float(done), following, done))
        cell, steps = following, steps + 1
        if len(agent.memory) >= 64:
            loss = agent.learn()
        if done:
            break
    if episode % 10 == 9:
        with torch.no_grad():
            start_value = agent.q(encode(0)).max().item()
        print(f"episode {episode + 1} loss {loss:.5f} value of the first cell {start_value:.3f} steps {steps}")
