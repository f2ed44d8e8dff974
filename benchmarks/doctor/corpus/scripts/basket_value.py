import torch
from torch import nn, optim

torch.manual_seed(37)


def sales(n):
    x = torch.randn(n, 6)
    return x, (x[:, :1] + x[:, 1:2] * x[:, 2:3]) / 1.4


def init(module):
    if isinstance(module, nn.Linear):
        nn.init.kaiming_uniform_(module.weight, nonlinearity="relu")
        nn.init.zeros_(module.bias)


net = nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
net.apply(init)
with torch.no_grad():
    net[2].weight.abs_().neg_()

X, T = sales(640)
Xv, Tv = sales(160)
optimizer = optim.Adam(net.parameters(), lr=2e-3)
mse = nn.MSELoss()
for epoch in range(10):
    epoch_loss = 0.0
    for chunk in torch.randperm(640).chunk(10):
        optimizer.zero_grad()
        out = net(X[chunk])
        loss = mse(out, T[chunk])
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    if epoch % 2 == 0:
        with torch.no_grad():
            print(f"{epoch:2d} train {epoch_loss / 10:.3f} val {mse(net(Xv), Tv).item():.3f}")
