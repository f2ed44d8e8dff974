import torch
from sklearn.datasets import make_moons
from torch import nn
from torch.func import functional_call, grad_and_value, vmap

torch.manual_seed(27)
x, y = make_moons(600, noise=0.12, random_state=3)
x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
params = {name: p.detach().clone() for name, p in model.named_parameters()}


def loss_of_one(params, xi, yi):
    logits = functional_call(model, params, (xi.unsqueeze(0),))
    return nn.functional.cross_entropy(logits, yi.unsqueeze(0))


per_example = vmap(grad_and_value(loss_of_one), in_dims=(None, 0, 0))


def clipped_mean(grads, limit=1.0):
    norms = torch.sqrt(sum(g.flatten(1).pow(2).sum(1) for g in grads.values()))
    factor = (limit / (norms + 1e-6)).clamp(max=1.0)
    return {k: torch.einsum("b,b...->...", factor, g) / len(factor) for k, g in grads.items()}


momentum = {k: torch.zeros_like(p) for k, p in params.items()}
for epoch in range(15):
    for idx in torch.randperm(len(x)).split(30):
        grads, losses = per_example(params, x[idx], y[idx])
        mean = clipped_mean(grads)
        momentum = {k: 0.9 * momentum[k] + mean[k] for k in params}
        params = {k: p - 0.2 * momentum[k] for k, p in params.items()}
    if epoch % 3 == 2:
        acc = (functional_call(model, params, (x,)).argmax(1) == y).float().mean()
        print(f"epoch {epoch + 1}: loss {losses.mean():.4f} acc {acc:.3f}")
