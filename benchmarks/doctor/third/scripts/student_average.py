"""Train with an exponential moving average of the weights."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class EMA:
    def __init__(self, model, decay=0.999):
        self.decay = decay
        self.shadow = copy.deepcopy(model).eval()
        for p in self.shadow.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.copy_((1 - self.decay) * s + self.decay * p)


torch.manual_seed(51)
true_w = torch.randn(16, 3)


def batch(n=32):
    x = torch.randn(n, 16)
    return x, (x @ true_w + 0.5 * torch.randn(n, 3)).argmax(1)


model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 3))
ema = EMA(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x_test, y_test = batch(500)

for step in range(200):
    x, y = batch()
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(model)
    if step % 50 == 49:
        acc = (ema.shadow(x_test).argmax(1) == y_test).float().mean().item()
        print(f"step {step} ema accuracy {acc:.3f}")
