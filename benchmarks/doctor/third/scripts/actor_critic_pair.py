"""Actor and critic on a continuous bandit."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(232)
actor = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
opt_actor = torch.optim.Adam(actor.parameters(), lr=1e-3)
opt_critic = torch.optim.Adam(critic.parameters(), lr=2e-3)


def reward(s, a):
    return -(a - torch.tanh(s[:, :1])) ** 2


def q(s, a):
    return critic(torch.cat([s, a], dim=1))


for step in range(100):
    s = torch.randn(64, 4)
    a = (actor(s) + 0.3 * torch.randn(64, 1)).detach()
    critic_loss = F.mse_loss(q(s, a), reward(s, a))
    actor_loss = -q(s, actor(s)).mean()

    opt_critic.zero_grad()
    critic_loss.backward()
    opt_critic.step()

    opt_actor.zero_grad()
    actor_loss.backward()
    opt_actor.step()
    if step % 20 == 0:
        print(step, critic_loss.item(), actor_loss.item())
