"""Two peers learn from the labels and from each other."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(63)
centres = torch.randn(5, 16)


def batch(n=64):
    y = torch.randint(0, 5, (n,))
    return centres[y] + 0.9 * torch.randn(n, 16), y


a = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 5))
b = nn.Sequential(nn.Linear(16, 24), nn.Tanh(), nn.Linear(24, 5))
opt_a = torch.optim.Adam(a.parameters(), lr=2e-3)
opt_b = torch.optim.Adam(b.parameters(), lr=2e-3)


def peer_loss(own, other, y):
    log_own = F.log_softmax(own, dim=-1)
    log_other = F.log_softmax(other.detach(), dim=-1)
    mimic = F.kl_div(log_own, log_other, log_target=True, reduction="batchmean")
    return F.nll_loss(log_own, y) + mimic


for step in range(120):
    x, y = batch()
    out_a, out_b = a(x), b(x)
    loss_a = peer_loss(out_a, out_b, y)
    loss_b = peer_loss(out_b, out_a, y)
    opt_a.zero_grad()
    opt_b.zero_grad()
    loss_a.backward()
    loss_b.backward()
    opt_a.step()
    opt_b.step()
    if step % 30 == 0:
        print(step, f"{loss_a.item():.3f} {loss_b.item():.3f}")
