import torch
from torch import nn

torch.manual_seed(40)


def quadrants(n):
    """Class 1 if both coordinates have the same sign."""
    x = (torch.rand(n, 2) * 2 - 1) * 1.7
    return x, (x[:, 0] * x[:, 1] > 0).long()


x, y = quadrants(400)
xt, yt = quadrants(100)

net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))
for p in net.parameters():
    nn.init.constant_(p, 0.1)

opt = torch.optim.Adam(net.parameters(), lr=0.03)
for i in range(200):
    rows = torch.randint(0, 400, (64,))
    loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 50 == 0:
        print("%3d  %.4f" % (i, loss.item()))
with torch.no_grad():
    print("test accuracy: %.2f" % (net(xt).argmax(1) == yt).float().mean().item())
