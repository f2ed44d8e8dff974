"""Contrastive matching of two noisy views of the same object."""
import torch
import torch.nn.functional as F
from torch import nn, optim


def two_views(n, dim=24):
    latent = torch.randn(n, 6)
    mix_a = torch.randn(6, dim, generator=torch.Generator().manual_seed(1))
    mix_b = torch.randn(6, dim, generator=torch.Generator().manual_seed(2))
    scale = 6**0.5
    return latent @ mix_a / scale + 0.3 * torch.randn(n, dim), latent @ mix_b / scale + 0.3 * torch.randn(n, dim)


class Tower(nn.Module):
    def __init__(self, dim=24, out=16):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, out))

    def forward(self, x):
        return F.normalize(self.mlp(x), dim=-1)


def clip_loss(a, b, log_scale):
    logits = a @ b.t() * log_scale.exp()
    target = torch.arange(len(a))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


def main():
    torch.manual_seed(19)
    left, right = Tower(), Tower()
    log_scale = nn.Parameter(torch.tensor(1.0))
    params = list(left.parameters()) + list(right.parameters())
    optimizer = optim.Adam(params, lr=3e-3)
    for step in range(150):
        a, b = two_views(64)
        loss = clip_loss(left(a), right(b), log_scale)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f} scale {log_scale.exp().item():.2f}")
    with torch.no_grad():
        a, b = two_views(100)
        top1 = ((left(a) @ right(b).t()).argmax(1) == torch.arange(100)).float().mean()
    print(f"retrieval top-1 {top1:.2f}, scale {log_scale.exp().item():.2f}")


if __name__ == "__main__":
    main()
