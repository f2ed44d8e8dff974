import torch
from torch import nn

torch.manual_seed(52)
STEPS = 40
betas = torch.linspace(1e-3, 0.15, STEPS)
kept = torch.cumprod(1 - betas, dim=0)


class Eps(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.time = nn.Embedding(STEPS, 16)
        self.net = nn.Sequential(nn.Linear(18, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], dim=1))


def ring(n):
    angle = 6.2832 * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


model = Eps()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
running = 1.0
for step in range(1, 801):
    x0 = ring(128)
    t = torch.randint(0, STEPS, (128,))
    noise = torch.randn_like(x0)
    a = kept[t].unsqueeze(1)
    loss = nn.functional.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    running = 0.98 * running + 0.02 * loss.item()
    if step % 200 == 0:
        print(f"step {step}: loss {running:.4f}")

with torch.no_grad():
    x = torch.randn(500, 2)
    for k in reversed(range(STEPS)):
        guess = model(x, torch.full((500,), k))
        x = (x - betas[k] / (1 - kept[k]).sqrt() * guess) / (1 - betas[k]).sqrt()
        if k:
            x = x + betas[k].sqrt() * torch.randn_like(x)
print(f"radius {x.norm(dim=1).mean():.3f} (1.0) spread {x.norm(dim=1).std():.3f}")
