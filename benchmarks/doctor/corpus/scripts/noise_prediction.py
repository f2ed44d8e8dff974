import torch
import torch.nn as nn

STEPS = 40
beta = torch.linspace(1e-3, 0.2, STEPS)
alpha_bar = torch.cumprod(1 - beta, 0)


class NoisePredictor(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.time = nn.Embedding(STEPS, 16)
        self.net = nn.Sequential(nn.Linear(18, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


def swirl(n):
    r = torch.rand(n).sqrt()
    a = 7 * r
    return torch.stack([r * a.cos(), r * a.sin()], 1) * 1.6 + 0.03 * torch.randn(n, 2)


@torch.no_grad()
def generate(model, n):
    x = torch.randn(n, 2)
    for t in reversed(range(STEPS)):
        eps = model(x, torch.full((n,), t))
        x = (x - beta[t] / (1 - alpha_bar[t]).sqrt() * eps) / (1 - beta[t]).sqrt()
        if t > 0:
            x = x + beta[t].sqrt() * torch.randn_like(x)
    return x


torch.manual_seed(182)
model = NoisePredictor()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
running = None
for it in range(500):
    x0 = swirl(128)
    t = torch.randint(0, STEPS, (128,))
    eps = torch.randn_like(x0)
    xt = alpha_bar[t].sqrt()[:, None] * x0 + (1 - alpha_bar[t]).sqrt()[:, None] * eps
    loss = (model(xt, t) - eps).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running = loss.item() if running is None else 0.95 * running + 0.05 * loss.item()
    if it % 100 == 0:
        print(f"iteration {it}: smoothed loss {running:.3f}")
print("distance to the swirl", torch.cdist(generate(model, 200), swirl(1000)).min(1).values.mean().item())
