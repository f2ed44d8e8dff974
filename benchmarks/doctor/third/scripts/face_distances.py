"""Metric learning: pull same identities together, push different ones apart."""
import torch
import torch.nn as nn

torch.manual_seed(9)
centres = torch.randn(6, 10)


def sample(n):
    who = torch.randint(0, 6, (n,))
    return centres[who] + 0.3 * torch.randn(n, 10), who


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        return self.body(x)


def pair_loss(z, who, margin=1.5):
    d2 = (z[:, None, :] - z[None, :, :]).pow(2).sum(-1)
    d = torch.sqrt(d2.clamp(min=1e-8))
    off = ~torch.eye(len(z), dtype=torch.bool)
    same = who[:, None] == who[None, :]
    pull = d2[same & off].mean()
    push = torch.relu(margin - d[~same]).pow(2).mean()
    return pull + push


net = Encoder()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(120):
    x, who = sample(48)
    loss = pair_loss(net(x), who)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(step, round(loss.item(), 4))
