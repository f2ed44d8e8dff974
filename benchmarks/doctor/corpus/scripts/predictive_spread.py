"""Regression with error bars from repeated stochastic passes."""
import torch
from torch import nn

torch.manual_seed(117)
x = torch.cat([torch.rand(150, 1) * 2 - 3, torch.rand(150, 1) * 2 + 1])
y = torch.sin(1.5 * x) + 0.1 * torch.randn_like(x)

net = nn.Sequential(
    nn.Linear(1, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1)
)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(40):
    for idx in torch.randperm(300).split(60):
        loss = nn.functional.mse_loss(net(x[idx] / 2), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")

grid = torch.linspace(-4, 4, 9).unsqueeze(1)
net.train()
with torch.no_grad():
    draws = torch.stack([net(grid / 2) for _ in range(30)])  # vitruvius: allow train_mode_in_eval
mean, spread = draws.mean(0).squeeze(), draws.std(0).squeeze()
for g, m, s in zip(grid.squeeze().tolist(), mean.tolist(), spread.tolist()):
    print(f"{g:5.1f} {m:7.3f} +- {s:.3f}")
