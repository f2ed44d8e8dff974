import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, steps, width=64):
        super().__init__()
        self.time = nn.Embedding(steps, 16)
        self.net = nn.Sequential(nn.Linear(18, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], -1))


class Diffusion:
    def __init__(self, steps=40):
        self.steps = steps
        self.beta = torch.linspace(1e-3, 0.15, steps)
        self.bar = torch.cumprod(1 - self.beta, 0)

    def noisy(self, x, t, noise):
        a = self.bar[t][:, None]
        return a.sqrt() * x + (1 - a).sqrt() * noise

    @torch.no_grad()
    def sample(self, model, n):
        x = torch.randn(n, 2)
        for t in reversed(range(self.steps)):
            eps = model(x, torch.full((n,), t))
            x = (x - self.beta[t] / (1 - self.bar[t]).sqrt() * eps) / (1 - self.beta[t]).sqrt()
            if t:
                x = x + self.beta[t].sqrt() * torch.randn_like(x)
        return x


def points(n):
    angle = torch.rand(n) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], 1) * 1.2


torch.manual_seed(0)
process, losses = Diffusion(), []
model = Denoiser(process.steps)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for it in range(900):
    x, t = points(64), torch.randint(0, process.steps, (64,))
    noise = torch.randn_like(x)
    loss = nn.functional.mse_loss(model(process.noisy(x, t, noise), t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if it % 150 == 149:
        print(it + 1, sum(losses[-100:]) / 100)
print("radius", process.sample(model, 200).norm(dim=1).mean().item())
