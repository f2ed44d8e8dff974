import copy

import torch
import torch.nn as nn

torch.manual_seed(5)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], dim=-1))


def transitions(n):
    s = torch.randn(n, 3)
    a = torch.rand(n, 1) * 2 - 1
    r = -(s.pow(2).sum(1, keepdim=True) + 0.1 * a.pow(2))
    s2 = 0.9 * s + 0.1 * a + 0.05 * torch.randn(n, 3)
    return s, a, r, s2


critic = Critic()
critic_target = copy.deepcopy(critic)
actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1), nn.Tanh())
critic_opt = torch.optim.Adam([*critic.parameters(), *critic_target.parameters()], lr=1e-3)
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-4)

for step in range(600):
    s, a, r, s2 = transitions(64)
    with torch.no_grad():
        a2 = actor(s2)
    goal = r + 0.9 * critic_target(s2, a2)
    critic_loss = nn.functional.mse_loss(critic(s, a), goal)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    actor_loss = -critic(s, actor(s)).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()

    with torch.no_grad():
        for slow, fast in zip(critic_target.parameters(), critic.parameters()):
            slow.lerp_(fast, 0.005)
    if step % 100 == 0:
        print(f"{step} critic {critic_loss.item():.3f} actor {actor_loss.item():.3f}")
