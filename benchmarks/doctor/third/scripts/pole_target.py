"""Fitted Q-learning with a soft target."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(361)
q = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 2))
q_target = copy.deepcopy(q)
q_target.requires_grad_(False)
optimizer = torch.optim.Adam(q.parameters(), lr=2e-3)
tau, gamma = 0.01, 0.9


def transitions(n=64):
    s = torch.randn(n, 3)
    a = torch.randint(0, 2, (n,))
    push = (a.float() * 2 - 1) * 0.3
    s2 = 0.9 * s + push[:, None] + 0.05 * torch.randn(n, 3)
    return s, a, -s2[:, 0].abs(), s2


def soft_update(source, target):
    with torch.no_grad():
        for p, p_t in zip(source.parameters(), target.parameters()):
            p_t = tau * p + (1 - tau) * p_t


for step in range(200):
    s, a, r, s2 = transitions()
    with torch.no_grad():
        goal = r + gamma * q_target(s2).max(dim=1).values
    value = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
    loss = F.smooth_l1_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    soft_update(q, q_target)
    if step % 50 == 0:
        print(step, f"loss {loss.item():.4f} value {value.mean().item():.3f}")
