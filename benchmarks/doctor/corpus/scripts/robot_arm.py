"""Learn the torque of a simulated joint."""
import torch


class TorqueNet(torch.nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.a = torch.nn.Linear(3, hidden)
        self.b = torch.nn.Linear(hidden, hidden)
        self.c = torch.nn.Linear(hidden, 1)

    def forward(self, state):
        h = torch.nn.functional.silu(self.a(state))
        h = torch.nn.functional.silu(self.b(h))
        return self.c(h)[:, 0]


def simulate(n):
    angle = 2 * torch.randn(n, 1)
    speed = torch.randn(n, 1)
    load = torch.rand(n, 1)
    torque = torch.sin(angle) + 0.4 * speed * load
    return torch.cat([angle / 2, speed, (load - 0.5) * 3.4], dim=1), torque


def train(net, updates, batch=64):
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
    for k in range(updates):
        state, torque = simulate(batch)
        error = net(state) - torque
        loss = (error**2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if k % 100 == 0:
            print("update", k, "loss", round(loss.item(), 4))


torch.manual_seed(56)
net = TorqueNet()
train(net, 400)
state, torque = simulate(1000)
with torch.no_grad():
    r2 = 1 - (net(state) - torque[:, 0]).pow(2).mean() / torque.var()
print("R2 on new states: %.3f" % r2.item())
