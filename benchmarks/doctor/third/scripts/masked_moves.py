"""REINFORCE with forbidden actions and an entropy bonus."""
import torch
import torch.nn as nn

torch.manual_seed(331)
policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)


def play(n=64):
    state = torch.randn(n, 6)
    allowed = torch.rand(n, 5) < 0.7
    allowed[:, 0] = True
    return state, allowed


for step in range(60):
    state, allowed = play()
    logits = policy(state).masked_fill(~allowed, float("-inf"))
    probs = torch.softmax(logits, dim=-1)
    with torch.no_grad():
        noise = -torch.log(-torch.log(torch.rand_like(logits)))
        action = (logits + noise).argmax(1, keepdim=True)
    reward = -(action.float() - 2 - state[:, :1]).abs()
    advantage = reward - reward.mean()
    log_prob = torch.log(probs.gather(1, action))
    entropy = -(probs * probs.log()).sum(dim=-1)
    loss = -(log_prob * advantage).mean() - 0.01 * entropy.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, f"loss {loss.item():.4f} reward {reward.mean().item():.4f}")
