"""Learn the value of each lift for a call from logged decisions."""
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.filterwarnings("ignore")


class ValueNet(nn.Module):
    def __init__(self, state=6, actions=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, actions))

    def forward(self, state):
        return self.net(state)


class Log:
    def __init__(self, n, weights):
        self.state = torch.randn(n, 6)
        self.action = torch.randint(0, 4, (n,))
        mean = torch.tanh(self.state @ weights)
        self.reward = mean[torch.arange(n), self.action] + 0.1 * torch.randn(n)

    def sample(self, size):
        i = torch.randint(0, len(self.state), (size,))
        return self.state[i], self.action[i], self.reward[i]


torch.manual_seed(2136)
weights = torch.randn(6, 4)
log = Log(2000, weights)
net = ValueNet()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(300):
    state, action, reward = log.sample(64)
    value = net(state).gather(1, action.unsqueeze(1))
    loss = F.smooth_l1_loss(value, reward)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"step {step} loss {loss.item():.4f}")

state = torch.randn(500, 6)
with torch.no_grad():
    chosen = net(state).argmax(1)
best = (state @ weights).argmax(1)
print("best lift chosen", (chosen == best).float().mean().item())
