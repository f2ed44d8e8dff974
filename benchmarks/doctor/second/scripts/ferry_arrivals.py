"""Delay of a ferry from wind, current and load."""
import copy
import torch
import torch.nn as nn


def voyages(n):
    x = torch.randn(n, 6)
    delay = x[:, 0].abs() + 0.7 * x[:, 1] * x[:, 2] - 0.5 * torch.relu(x[:, 3]) + 0.1 * torch.randn(n)
    return x, (delay - 0.6) / 1.0


def make_optimizer(net, epoch, base=5e-3, decay=0.9):
    return torch.optim.Adam(net.parameters(), lr=base * decay**epoch)


def validate(net, x, y):
    with torch.no_grad():
        return nn.functional.l1_loss(net(x).squeeze(1), y).item()


torch.manual_seed(2122)
x, y = voyages(900)
vx, vy = voyages(300)
net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
best, best_state = float("inf"), None
for epoch in range(12):
    optimizer = make_optimizer(net, epoch)
    for idx in torch.randperm(len(x)).split(60):
        optimizer.zero_grad()
        loss = nn.functional.huber_loss(net(x[idx]).squeeze(1), y[idx])
        loss.backward()
        optimizer.step()
    error = validate(net, vx, vy)
    if error < best:
        best, best_state = error, copy.deepcopy(net.state_dict())
    print(f"epoch {epoch} huber {loss.item():.4f} validation {error:.4f}")
net.load_state_dict(best_state)
tx, ty = voyages(300)
print("test mae", validate(net, tx, ty))
