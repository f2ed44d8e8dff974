import torch
from torch import nn

torch.manual_seed(191)
x = torch.randn(256, 4)
y = torch.tanh(x[:, :1] - x[:, 1:2])
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-2)
sigma, pairs = 0.05, 16


@torch.no_grad()
def fitness():
    return (net(x) - y).pow(2).mean().item()


@torch.no_grad()
def estimate():
    """Antithetic estimate of the gradient of the loss."""
    estimates = [torch.zeros_like(p) for p in net.parameters()]
    for _ in range(pairs):
        noise = [torch.randn_like(p) for p in net.parameters()]
        for p, e in zip(net.parameters(), noise):
            p.add_(sigma * e)
        up = fitness()
        for p, e in zip(net.parameters(), noise):
            p.sub_(2 * sigma * e)
        down = fitness()
        for g, p, e in zip(estimates, net.parameters(), noise):
            p.add_(sigma * e)
            g.add_(e, alpha=(up - down) / (2 * sigma * pairs))
    return estimates


for generation in range(60):
    for p, g in zip(net.parameters(), estimate()):
        p.grad = g
    optimizer.step()
    if generation % 10 == 0:
        print(f"generation {generation:2d} loss {fitness():.4f}")
print("final", fitness())
