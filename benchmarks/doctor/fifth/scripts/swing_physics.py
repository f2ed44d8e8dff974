import torch
from torch import nn

torch.manual_seed(51)


class Swing(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, t):
        return 1.0 + t**2 * self.net(t)


def residual(model, t):
    t = t.requires_grad_(True)
    u = model(t)
    (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
    return ddu + 4 * u


model = Swing()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=600)
grid = torch.linspace(0, 2, 100).unsqueeze(1)
for step in range(1, 601):
    t = 2 * torch.rand(64, 1)
    loss = residual(model, t).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 100 == 0:
        with torch.no_grad():
            error = (model(grid) - torch.cos(2 * grid)).abs().max().item()
        print(f"step {step}: residual {loss.item():.5f} largest error {error:.4f}")
