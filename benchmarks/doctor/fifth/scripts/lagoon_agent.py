import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(8)
torch.manual_seed(8)


class Lagoon:
    """A boat drifts on a line and is paid for being near the middle."""

    def reset(self):
        self.x = random.uniform(-1, 1)
        self.v = 0.0
        return torch.tensor([self.x, self.v])

    def step(self, action):
        self.v = 0.8 * self.v + 0.1 * (action - 1)
        self.x = max(-1.5, min(1.5, self.x + self.v))
        return torch.tensor([self.x, self.v]), -abs(self.x)


class Agent:
    def __init__(self, tau=0.02, gamma=0.9):
        self.online = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 3))
        self.target = copy.deepcopy(self.online)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=3e-3)
        self.tau, self.gamma = tau, gamma
        self.memory = []

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(3)
        with torch.no_grad():
            return int(self.online(state).argmax())

    def learn(self):
        s, a, r, s2 = zip(*random.sample(self.memory, 32))
        s, s2, a, r = torch.stack(s), torch.stack(s2), torch.tensor(a), torch.tensor(r)
        with torch.no_grad():
            goal = r + self.gamma * self.target(s2).max(1).values
        q = self.online(s).gather(1, a[:, None])[:, 0]
        loss = F.mse_loss(q, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.soft_update()
        return loss.item()

    @torch.no_grad()
    def soft_update(self):
        for old, new in zip(self.target.parameters(), self.online.parameters()):
            old = self.tau * new + (1 - self.tau) * old


agent, env = Agent(), Lagoon()
for episode in range(25):
    state, pay, loss = env.reset(), 0.0, 0.0
    for _ in range(25):
        action = agent.act(state, max(0.1, 1 - episode / 15))
        nxt, reward = env.step(action)
        agent.memory.append((state, action, reward, nxt))
        state, pay = nxt, pay + reward
        if len(agent.memory) > 64:
            loss = agent.learn()
    if episode % 5 == 4:
        print(f"episode {episode + 1}: pay {pay:.2f} loss {loss:.4f}")
