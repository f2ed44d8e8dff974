import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Walk:
    """Reach +4 on a line within 16 steps."""

    def reset(self):
        self.at, self.t = 0, 0
        return self.state()

    def state(self):
        return torch.tensor([self.at / 4, self.t / 16])

    def step(self, action):
        self.at += 1 if action == 1 else -1
        self.t += 1
        done = self.at >= 4 or self.t >= 16
        return self.state(), (1.0 if self.at >= 4 else -0.05), done


policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=5e-3)
env = Walk()
lengths = []
for episode in range(150):
    state, done, logps, values, rewards = env.reset(), False, [], [], []
    while not done:
        choice = Categorical(logits=policy(state))
        action = choice.sample()
        logps.append(choice.log_prob(action))
        values.append(critic(state).squeeze())
        state, reward, done = env.step(action.item())
        rewards.append(reward)
    returns, running = [], 0.0
    for reward in reversed(rewards):
        running = reward + 0.97 * running
        returns.insert(0, running)
    returns, values = torch.tensor(returns), torch.stack(values)
    advantage = returns - values.detach()
    loss = -(torch.stack(logps) * advantage).mean() + 0.5 * (returns - values).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lengths.append(env.t)
    if episode % 30 == 29:
        print(episode, sum(lengths[-30:]) / 30)
