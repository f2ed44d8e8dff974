"""Meta-learning of sine waves with Reptile."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def task():
    amplitude, phase = 0.5 + torch.rand(1), 3.14 * torch.rand(1)

    def draw(n):
        x = torch.rand(n, 1) * 4 - 2
        return x, amplitude * torch.sin(1.5 * x + phase)

    return draw


def adapt(model, draw, steps=8, lr=0.05):
    inner = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        x, y = draw(16)
        loss = F.mse_loss(model(x), y)
        inner.zero_grad()
        loss.backward()
        inner.step()
    return loss.item()


torch.manual_seed(155)
meta = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
history = []
for it in range(120):
    fast = copy.deepcopy(meta)
    history.append(adapt(fast, task()))
    with torch.no_grad():
        for p, q in zip(meta.parameters(), fast.parameters()):
            p += 0.3 * (q - p)
    if it % 30 == 29:
        print(f"tasks {it + 1:3d}: loss after adaptation {sum(history[-30:]) / 30:.4f}")

scores = []
for _ in range(20):
    draw, fast = task(), copy.deepcopy(meta)
    adapt(fast, draw)
    with torch.no_grad():
        x, y = draw(100)
        scores.append(F.mse_loss(fast(x), y).item())
print("new tasks", sum(scores) / len(scores))
