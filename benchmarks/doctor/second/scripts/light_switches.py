"""PPO on a toy room: press the right switches until all five lights are on."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(101)
LIGHTS, HORIZON, ROOMS = 5, 6, 48


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(LIGHTS, 48), nn.Tanh())
        self.pi = nn.Linear(48, LIGHTS)
        self.v = nn.Linear(48, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


@torch.no_grad()
def rollout(net):
    s = (torch.rand(ROOMS, LIGHTS) < 0.4).float()
    states, actions, logps, rewards, values = [], [], [], [], []
    for _ in range(HORIZON):
        obs = 2 * s - 1
        dist, v = net(obs)
        a = dist.sample()
        r = 1 - 2 * s[torch.arange(ROOMS), a]
        s[torch.arange(ROOMS), a] = 1 - s[torch.arange(ROOMS), a]
        for box, item in zip((states, actions, logps, rewards, values), (obs, a, dist.log_prob(a), r, v)):
            box.append(item)
    returns, future = [], torch.zeros(ROOMS)
    for r in reversed(rewards):
        future = r + 0.8 * future
        returns.insert(0, future)
    states, actions, logps, returns, values = (torch.cat(b) for b in (states, actions, logps, returns, values))
    adv = returns - values
    return states, actions, logps, returns, (adv - adv.mean()) / (adv.std() + 1e-6), torch.stack(rewards).sum(0).mean()


net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(20):
    states, actions, old, returns, adv, score = rollout(net)
    for _ in range(3):
        for idx in torch.randperm(len(states)).split(96):
            dist, v = net(states[idx])
            ratio = torch.exp(dist.log_prob(actions[idx]) - old[idx])
            clipped = ratio.clamp(0.8, 1.2)
            policy = -torch.min(ratio * adv[idx], clipped * adv[idx]).mean()
            loss = policy + 0.5 * (v - returns[idx]).pow(2).mean() - 0.01 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
    if it % 4 == 3:
        print(f"iteration {it}: reward per room {score:.2f}")
