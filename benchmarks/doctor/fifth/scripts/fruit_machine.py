import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(36)
PAY = torch.tensor([[0.9, 0.2, 0.1, 0.1], [0.1, 0.8, 0.3, 0.2], [0.2, 0.1, 0.1, 0.9]])


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 24), nn.Tanh())
        self.actor = nn.Linear(24, 4)
        self.critic = nn.Linear(24, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
average = 0.3
for step in range(1, 301):
    state = torch.randint(0, 3, (32,))
    dist, value = model(torch.eye(3)[state])
    action = dist.sample()
    reward = torch.bernoulli(PAY[state, action])
    advantage = (reward - value).detach()
    policy_loss = -(dist.log_prob(action) * advantage).mean()
    value_loss = (reward - value).pow(2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average += 0.05 * (reward.mean().item() - average)
    if step % 60 == 0:
        print(f"step {step}: average pay {average:.3f}")
