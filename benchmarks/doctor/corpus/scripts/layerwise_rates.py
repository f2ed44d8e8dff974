import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(15, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU())
        self.head = nn.Linear(64, 4)

    def forward(self, x):
        return self.head(self.trunk(x))


def groups(net, trunk_lr, head_lr, decay):
    out = []
    for part, lr in ((net.trunk, trunk_lr), (net.head, head_lr)):
        out.append({"params": [p for p in part.parameters() if p.ndim > 1], "lr": lr, "weight_decay": decay})
        out.append({"params": [p for p in part.parameters() if p.ndim <= 1], "lr": lr, "weight_decay": 0.0})
    return out


def samples(n, rotate):
    protos = torch.randn(4, 15, generator=torch.Generator().manual_seed(6)).roll(rotate, 0)
    y = torch.randint(0, 4, (n,))
    return (protos[y] + 1.2 * torch.randn(n, 15)) / 1.5, y


def loop(net, optimizer, steps, rotate):
    for step in range(steps):
        x, y = samples(64, rotate)
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"{step:4d} {loss.item():.3f}")


torch.manual_seed(163)
net = Net()
loop(net, torch.optim.AdamW(groups(net, 3e-3, 3e-3, 0.05)), 120, rotate=0)
net.head = nn.Linear(64, 4)
loop(net, torch.optim.AdamW(groups(net, 1e-5, 1e-2, 0.05)), 120, rotate=1)
x, y = samples(400, 1)
with torch.no_grad():
    print("accuracy", (net(x).argmax(1) == y).float().mean().item())
