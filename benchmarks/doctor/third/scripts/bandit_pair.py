"""Actor and critic, DDPG style, with in-place activations."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(233)


class MLP(nn.Module):
    def __init__(self, inp):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(inp, 32), nn.Linear(32, 32), nn.Linear(32, 1)

    def forward(self, x):
        h = F.relu_(self.a(x))
        r = self.b(h)
        r += h
        return self.c(F.relu(r, inplace=True))


actor, critic = MLP(4), MLP(5)
opt_actor = torch.optim.Adam(actor.parameters(), lr=1e-3)
opt_critic = torch.optim.Adam(critic.parameters(), lr=2e-3)
for step in range(120):
    s = torch.randn(64, 4)
    with torch.no_grad():
        a = torch.tanh(actor(s)) + 0.3 * torch.randn(64, 1)
    r = -(a - torch.tanh(s[:, :1])) ** 2
    critic_loss = F.mse_loss(critic(torch.cat([s, a], 1)), r)
    opt_critic.zero_grad()
    critic_loss.backward()
    opt_critic.step()

    actor_loss = -critic(torch.cat([s, torch.tanh(actor(s))], 1)).mean()
    opt_actor.zero_grad()
    actor_loss.backward()
    opt_actor.step()
    if step % 30 == 0:
        print(step, f"{critic_loss.item():.4f} {actor_loss.item():.4f}")
