import torch
from torch import nn

torch.manual_seed(40)
x = torch.rand(500, 2) * 2 - 1
y = (x[:, 0] * x[:, 1] > 0).long()
xt, yt = x[400:], y[400:]
x, y = x[:400], y[:400]

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
