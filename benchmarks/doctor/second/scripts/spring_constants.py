"""Recover stiffness and damping of a spring from a noisy record of its motion."""
import torch
import torch.nn as nn


class Spring(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_omega = nn.Parameter(torch.tensor(0.9))
        self.log_gamma = nn.Parameter(torch.tensor(-1.0))
        self.a = nn.Parameter(torch.tensor(0.5))
        self.b = nn.Parameter(torch.tensor(0.1))

    def forward(self, t):
        decay = torch.exp(-self.log_gamma.exp() * t)
        phase = self.log_omega.exp() * t
        return decay * (self.a * torch.cos(phase) + self.b * torch.sin(phase))


def main():
    torch.manual_seed(2)
    t = torch.linspace(0, 6, 240)
    motion = torch.exp(-0.25 * t) * (1.3 * torch.cos(3.0 * t) - 0.4 * torch.sin(3.0 * t))
    record = motion + 0.05 * torch.randn(240)
    spring = Spring()
    opt = torch.optim.LBFGS(spring.parameters(), lr=0.5, max_iter=3, history_size=8)

    def closure():
        opt.zero_grad()
        loss = ((spring(t) - record) ** 2).mean()
        loss.backward()
        return loss

    for it in range(15):
        loss = opt.step(closure)
        print(f"iteration {it:2d}: {loss.item():.5f}")
    with torch.no_grad():
        print(f"omega {spring.log_omega.exp():.3f} (3.0)  gamma {spring.log_gamma.exp():.3f} (0.25)")
        print(f"error against the clean motion {(spring(t) - motion).pow(2).mean():.5f}")


main()
