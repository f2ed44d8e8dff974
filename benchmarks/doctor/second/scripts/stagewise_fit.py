"""Boosting with small networks: each one learns what the others left over."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Committee:
    def __init__(self, shrink=0.7):
        self.members, self.scales, self.shrink = [], [], shrink

    @torch.no_grad()
    def predict(self, x):
        total = torch.zeros(len(x))
        for net, scale in zip(self.members, self.scales):
            total += self.shrink * scale * net(x)
        return total

    def add(self, x, y, epochs=12):
        rest = y - self.predict(x)
        scale = rest.std()
        net = nn.Sequential(nn.Linear(x.shape[1], 24), nn.Tanh(), nn.Linear(24, 1), nn.Flatten(0))
        opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        loader = DataLoader(TensorDataset(x, rest / scale), batch_size=64, shuffle=True)
        net.train()
        for _ in range(epochs):
            for bx, by in loader:
                opt.zero_grad()
                loss = F.mse_loss(net(bx), by)
                loss.backward()
                opt.step()
        net.eval().requires_grad_(False)
        self.members.append(net)
        self.scales.append(scale)


def quarry(n):
    x = torch.randn(n, 5)
    y = x[:, 0] + x[:, 1] * x[:, 2] + torch.sin(2 * x[:, 3])
    return x, y + 0.1 * torch.randn(n)


if __name__ == "__main__":
    torch.manual_seed(35)
    x, y = quarry(800)
    xt, yt = quarry(200)
    committee = Committee()
    print(f"start: {yt.var():.4f}")
    for stage in range(4):
        committee.add(x, y)
        print(f"{stage + 1} members: test mse {F.mse_loss(committee.predict(xt), yt):.4f}")
