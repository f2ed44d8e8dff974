import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTH = 8


class Corridor:
    def reset(self):
        self.at, self.steps = 0, 0
        return self.view()

    def view(self):
        return F.one_hot(torch.tensor(self.at), LENGTH).float()

    def step(self, action):
        self.steps += 1
        self.at = max(0, self.at + (1 if action == 1 else -1))
        done = self.at == LENGTH - 1
        return self.view(), (1.0 if done else -0.05), done


class Agent:
    def __init__(self):
        self.online = nn.Sequential(nn.Linear(LENGTH, 32), nn.ReLU(), nn.Linear(32, 2))
        self.target = copy.deepcopy(self.online)
        self.opt = torch.optim.Adam(self.online.parameters(), lr=3e-3)
        self.memory, self.updates = [], 0

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.online(state).argmax())

    def learn(self):
        rows = random.sample(self.memory, 32)
        s, a, r, s2, d = (torch.stack(c) for c in zip(*rows))
        with torch.no_grad():
            goal = r + 0.9 * (1 - d) * self.target(s2).amax(1)
        value = self.online(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = F.mse_loss(value, goal)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.updates += 1
        if self.updates % 100 == 0:
            self.target.load_state_dict(self.online.state_dict())


random.seed(1)
torch.manual_seed(1)
env, agent = Corridor(), Agent()
for episode in range(40):
    state, done = env.reset(), False
    while not done and env.steps < 50:
        action = agent.act(state, max(0.1, 1 - episode / 20))
        after, reward, done = env.step(action)
        agent.memory.append((state, torch.tensor(action), torch.tensor(reward), after, torch.tensor(float(done))))
        state = after
        if len(agent.memory) > 64:
            agent.learn()
    if episode % 8 == 7:
        print(episode, env.steps)
