import torch
from torch import nn

torch.manual_seed(57)


class MeanAndSpread(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.mean = nn.Linear(48, 1)
        self.log_var = nn.Linear(48, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), self.log_var(h).clamp(-8, 4)


def nll(mean, log_var, y):
    return 0.5 * (log_var + (y - mean) ** 2 * torch.exp(-log_var)).mean()


def sky(n):
    x = torch.rand(n, 1) * 4 - 2
    spread = 0.05 + 0.1 * (x > 0)
    return x, torch.sin(2 * x) + spread * torch.randn(n, 1)


x, y = sky(1500)
xv, yv = sky(400)
model = MeanAndSpread()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    model.train()
    for idx in torch.randperm(len(x)).split(50):
        mean, log_var = model(x[idx])
        loss = nll(mean, log_var, y[idx])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        mean, log_var = model(xv)
    if epoch % 2:
        print(f"epoch {epoch}: nll {nll(mean, log_var, yv):.3f} mse {(mean - yv).pow(2).mean():.4f}")
