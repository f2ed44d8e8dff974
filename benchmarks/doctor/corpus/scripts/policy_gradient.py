import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(156)
ACTIONS, FEATURES = 4, 6
secret = torch.randn(FEATURES, ACTIONS)


def reward(context, action):
    best = (context @ secret).argmax(1)
    return (action == best).float()


policy = nn.Sequential(nn.Linear(FEATURES, 32), nn.Tanh(), nn.Linear(32, ACTIONS))
value = nn.Sequential(nn.Linear(FEATURES, 32), nn.Tanh(), nn.Linear(32, 1), nn.Flatten(0))
policy_opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
value_opt = torch.optim.Adam(value.parameters(), lr=1e-2)

for episode in range(300):
    context = torch.randn(64, FEATURES)
    dist = Categorical(logits=policy(context))
    action = dist.sample()
    r = reward(context, action)
    baseline = value(context)

    policy_loss = -(dist.log_prob(action) * (r - baseline.detach())).mean() - 0.01 * dist.entropy().mean()
    policy_opt.zero_grad()
    policy_loss.backward()
    policy_opt.step()

    value_loss = (baseline - r).pow(2).mean()
    value_opt.zero_grad()
    value_loss.backward()
    value_opt.step()
    if episode % 60 == 0:
        print(f"episode {episode:3d} mean reward {r.mean().item():.2f}")

context = torch.randn(1000, FEATURES)
with torch.no_grad():
    print("greedy reward", reward(context, policy(context).argmax(1)).mean().item())
