import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(30)
TRUE_PAY = torch.tensor([[0.9, 0.1, 0.1], [0.1, 0.1, 0.8], [0.2, 0.9, 0.1], [0.8, 0.2, 0.3]])


class Policy(nn.Module):
    def __init__(self, states=4, actions=3):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(states, 24), nn.Tanh(), nn.Linear(24, actions))

    def forward(self, s):
        return Categorical(logits=self.layers(s))


def pull(state, action):
    return float(torch.rand(()) < TRUE_PAY[state, action])


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
baseline = 0.0
for episode in range(1, 81):
    log_probs, rewards = [], []
    for _ in range(10):
        state = int(torch.randint(0, 4, ()))
        one_hot = torch.eye(4)[state]
        dist = policy(one_hot)
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        rewards.append(pull(state, int(action)))
    policy_losses = [-lp * (r - baseline) for lp, r in zip(log_probs, rewards)]
    loss = torch.tensor([p.item() for p in policy_losses], requires_grad=True).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    pay = sum(rewards) / len(rewards)
    baseline = 0.9 * baseline + 0.1 * pay
    if episode % 20 == 0:
        print(f"episode {episode}: average pay {baseline:.3f}")
