"""Policy gradient: walk to the right end before the time is over."""
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(2, 24)
        self.affine2 = nn.Linear(24, 2)
        self.saved_log_probs, self.rewards = [], []

    def forward(self, x):
        return torch.softmax(self.affine2(torch.relu(self.affine1(x))), dim=-1)


def select_action(policy, state):
    m = Categorical(policy(torch.tensor(state, dtype=torch.float32).unsqueeze(0)))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(policy, optimizer, gamma=0.5):
    R, returns = 0.0, []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    loss = torch.cat([-lp * g for lp, g in zip(policy.saved_log_probs, returns)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    policy.rewards.clear()
    policy.saved_log_probs.clear()


torch.manual_seed(0)
rng = np.random.default_rng(0)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
running = 0.0
for episode in range(150):
    place, goal = rng.uniform(-1, 1), rng.uniform(-1, 1)
    for t in range(12):
        action = select_action(policy, [place, goal])
        before = abs(place - goal)
        place += 0.2 if action == 1 else -0.2
        policy.rewards.append(before - abs(place - goal))
    score = -abs(place - goal)
    running = score if episode == 0 else 0.95 * running + 0.05 * score
    finish_episode(policy, optimizer)
    if episode % 20 == 19:
        print(f"episode {episode + 1} score {score:.2f} average {running:.2f}")
