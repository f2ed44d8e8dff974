import torch
from torch import nn


def make_net(inputs, width, depth):
    """depth hidden layers of equal width"""
    layers = [nn.Linear(inputs, width), nn.Tanh()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), nn.Tanh()]
    layers.append(nn.Linear(width, 1))
    return nn.Sequential(*layers)


def fit(net, x, y, epochs, lr):
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    loss_fn = nn.MSELoss()
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(x)).split(64):
            loss = loss_fn(net(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch:2d}  mse {total / len(x):.4f}")


if __name__ == "__main__":
    torch.manual_seed(26)
    strain = torch.randn(512, 3)
    stress = strain[:, :1] - 0.4 * strain[:, 1:2] ** 2 + 0.4 + 0.3 * strain[:, 2:] * strain[:, :1]
    net = make_net(3, 24, depth=40)
    fit(net, strain[:384], stress[:384], epochs=6, lr=0.02)
    with torch.no_grad():
        err = (net(strain[384:]) - stress[384:]).pow(2).mean()
    print(f"held out {err:.4f}")
