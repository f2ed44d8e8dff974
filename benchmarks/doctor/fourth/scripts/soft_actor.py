import copy

import torch
import torch.nn as nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], dim=-1))


class Ddpg:
    def __init__(self, tau=0.01, gamma=0.9):
        self.actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1), nn.Tanh())
        self.critic = Critic()
        self.goal_actor = copy.deepcopy(self.actor).requires_grad_(False)
        self.goal_critic = copy.deepcopy(self.critic).requires_grad_(False)
        self.opt_a = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        self.tau, self.gamma = tau, gamma

    def learn(self, s, a, r, s2):
        with torch.no_grad():
            goal = r + self.gamma * self.goal_critic(s2, self.goal_actor(s2))
        c_loss = nn.functional.mse_loss(self.critic(s, a), goal)
        self.opt_c.zero_grad()
        c_loss.backward()
        self.opt_c.step()
        a_loss = -self.critic(s, self.actor(s)).mean()
        self.opt_a.zero_grad()
        a_loss.backward()
        self.opt_a.step()
        with torch.no_grad():
            for slow, fast in ((self.goal_actor, self.actor), (self.goal_critic, self.critic)):
                for p, q in zip(slow.parameters(), fast.parameters()):
                    p.lerp_(q, self.tau)
        return c_loss.item(), a_loss.item()


torch.manual_seed(0)
agent = Ddpg()
for step in range(500):
    s = torch.randn(64, 3)
    a = (agent.actor(s).detach() + 0.3 * torch.randn(64, 1)).clamp(-1, 1)
    r = 0.2 * (1 - s.square().mean(1, keepdim=True) - 0.1 * a.square())
    s2 = 0.9 * s + 0.1 * a + 0.05 * torch.randn(64, 3)
    losses = agent.learn(s, a, r, s2)
    if step % 100 == 0:
        print(step, "critic %.4f actor %.4f" % losses)
