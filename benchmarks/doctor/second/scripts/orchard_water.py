"""Each weight is updated as soon as its gradient is ready, so that no two gradients are kept in memory."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(87)


def plots(n):
    x = torch.randn(n, 8)
    y = 0.8 * x[:, 0] - 0.6 * x[:, 1] * x[:, 2] + 0.5 * torch.tanh(2 * x[:, 3]) + 0.1 * torch.randn(n)
    return x, y


model = nn.Sequential(nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1), nn.Flatten(0))
optimizers = {p: torch.optim.Adam([p], lr=2e-3) for p in model.parameters()}


def update(p):
    optimizers[p].step()
    optimizers[p].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(update)

x, y = plots(1000)
xt, yt = plots(250)
for epoch in range(8):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(50):
        loss = F.mse_loss(model(x[idx]), y[idx])
        loss.backward()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        test = F.mse_loss(model(xt), yt)
    print(f"epoch {epoch}: train {total / len(x):.4f} test {test:.4f}")
