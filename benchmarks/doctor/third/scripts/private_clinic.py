"""Differentially private SGD with per-sample gradients."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap

torch.manual_seed(347)
centres = torch.randn(3, 8)
model = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.5)


def sample_loss(params, x, y):
    logits = functional_call(model, params, (x.unsqueeze(0),))
    return F.cross_entropy(logits, y.unsqueeze(0))


per_sample = vmap(grad(sample_loss), in_dims=(None, 0, 0))
clip, sigma, n = 0.5, 0.3, 64
for step in range(80):
    y = torch.randint(0, 3, (n,))
    x = centres[y] + 0.7 * torch.randn(n, 8)
    params = {k: p.detach() for k, p in model.named_parameters()}
    grads = per_sample(params, x, y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
    factor = (clip / (norms + 1e-6)).clamp(max=1.0)
    for name, p in model.named_parameters():
        g = grads[name]
        total = (g * factor.view(-1, *[1] * (g.ndim - 1))).sum(0)
        p.grad = (total + sigma * clip * torch.randn_like(p)) / n
    optimizer.step()
    if step % 20 == 0:
        with torch.no_grad():
            print(step, f"{F.cross_entropy(model(x), y).item():.4f}")
