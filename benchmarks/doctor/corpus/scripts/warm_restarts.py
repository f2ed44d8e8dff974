import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts

torch.manual_seed(186)


def make(n):
    x = torch.randn(n, 2)
    y = ((x.norm(dim=1) * 1.2).floor() % 2).long()
    return x, y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 64), nn.Linear(64, 64), nn.Linear(64, 64)])
        self.out = nn.Linear(64, 2)

    def forward(self, x):
        for layer in self.layers:
            x = F.gelu(layer(x))
        return self.out(x)


x, y = make(800)
x_val, y_val = make(300)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=8e-3)
scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=3, T_mult=2, eta_min=1e-4)
batches = 16
for epoch in range(9):
    total = 0.0
    for k, idx in enumerate(torch.randperm(800).split(50)):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        scheduler.step(epoch + (k + 1) / batches)
        total += loss.item() / batches
    with torch.no_grad():
        acc = (net(x_val).argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch} loss {total:.3f} val {acc:.3f} lr {scheduler.get_last_lr()[0]:.5f}")
