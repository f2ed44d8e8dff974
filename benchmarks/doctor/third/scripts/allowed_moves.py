"""REINFORCE with forbidden actions, by Categorical."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(332)
policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)


def play(n=64):
    state = torch.randn(n, 6)
    allowed = torch.rand(n, 5) < 0.7
    allowed[:, 0] = True
    return state, allowed


for step in range(120):
    state, allowed = play()
    logits = policy(state).masked_fill(~allowed, -1e9)
    dist = Categorical(logits=logits)
    action = dist.sample()
    reward = -(action.float() - 2 - state[:, 0]).abs()
    advantage = (reward - reward.mean()) / (reward.std() + 1e-8)
    loss = -(dist.log_prob(action) * advantage).mean() - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, f"loss {loss.item():.4f} reward {reward.mean().item():.4f}")
