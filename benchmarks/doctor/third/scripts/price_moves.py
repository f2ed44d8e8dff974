"""Predict daily price moves."""
import torch
import torch.nn as nn

torch.manual_seed(132)
weights = torch.randn(9)


def moves(n=64):
    x = torch.randn(n, 9)
    return x, torch.sin(x @ weights * 0.5) + 0.05 * torch.randn(n)


def build(width):
    return nn.Sequential(
        nn.Linear(9, width),
        nn.ReLU(),
        nn.Linear(width, 1),
        nn.Flatten(0),
        nn.ReLU(),
    )


model = build(64)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
x_val, y_val = moves(400)
for step in range(150):
    x, y = moves()
    pred = model(x)
    loss = loss_fn(pred, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        with torch.no_grad():
            print(step, f"train {loss.item():.4f} val {loss_fn(model(x_val), y_val).item():.4f}")
