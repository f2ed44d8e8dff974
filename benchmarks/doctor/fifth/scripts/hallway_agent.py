import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(3)
torch.manual_seed(3)
LENGTH = 8


class Corridor:
    def reset(self):
        self.place = 0
        self.clock = 0
        return self.observe()

    def observe(self):
        state = torch.zeros(LENGTH)
        state[self.place] = 1.0
        return state

    def step(self, action):
        self.place = max(0, self.place - 1) if action == 0 else self.place + 1
        self.clock += 1
        won = self.place == LENGTH - 1
        return self.observe(), float(won), won or self.clock >= 30


def build():
    return nn.Sequential(nn.Linear(LENGTH, 32), nn.ReLU(), nn.Linear(32, 2))


def learn(online, target, optimizer, memory, gamma=0.95):
    batch = random.sample(memory, 32)
    s, a, r, s2, d = (torch.stack(column) for column in zip(*batch))
    q = online(s).gather(1, a.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        goal = r + gamma * (1 - d) * target(s2).max(1).values
    loss = F.smooth_l1_loss(q, goal)
    optimizer.zero_grad()
    loss.backward
    optimizer.step()
    return loss.item()


online, target = build(), build()
target.load_state_dict(online.state_dict())
optimizer = torch.optim.Adam(online.parameters(), lr=5e-3)
memory = deque(maxlen=2000)
env = Corridor()

for episode in range(30):
    state, done, steps, loss = env.reset(), False, 0, float("nan")
    epsilon = max(0.1, 1.0 - episode / 20)
    while not done:
        if random.random() < epsilon:
            action = random.randrange(2)
        else:
            with torch.no_grad():
                action = int(online(state).argmax())
        nxt, reward, done = env.step(action)
        memory.append((state, torch.tensor(action), torch.tensor(reward), nxt, torch.tensor(float(reward > 0))))
        state = nxt
        steps += 1
        if len(memory) >= 64:
            loss = learn(online, target, optimizer, memory)
    if episode % 3 == 0:
        target.load_state_dict(online.state_dict())
    if episode % 5 == 4:
        print(f"episode {episode + 1}: steps {steps} loss {loss:.4f}")
