"""Fit an energy whose gradient gives the forces."""
import torch
import torch.nn as nn

torch.manual_seed(192)


def energy_true(r):
    return (r ** 2).sum(1) + 0.5 * torch.sin(2 * r[:, 0])


def sample(n):
    r = torch.randn(n, 3).requires_grad_(True)
    e = energy_true(r)
    f = -torch.autograd.grad(e.sum(), r)[0]
    return r.detach(), e.detach(), f.detach()


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, r, create_graph):
        r = r.detach().requires_grad_(True)
        e = self.net(r).squeeze(1)
        f = -torch.autograd.grad(e.sum(), r, create_graph=create_graph)[0]
        return e, f


model = Energy()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
r_val, e_val, f_val = sample(200)
for step in range(150):
    model.train()
    r, e, f = sample(64)
    e_hat, f_hat = model(r, create_graph=True)
    loss = nn.functional.mse_loss(e_hat, e) + nn.functional.mse_loss(f_hat, f)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        model.eval()
        _, f_hat = model(r_val, create_graph=False)
        print(step, f"{loss.item():.4f} force error {(f_hat.detach() - f_val).abs().mean().item():.4f}")
