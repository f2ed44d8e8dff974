import torch
from sklearn.datasets import make_moons
from torch import nn

torch.manual_seed(36)


def make_net(depth=12, width=32):
    layers = [nn.Linear(2, width), nn.Sigmoid()]
    for _ in range(depth - 1):
        layers.append(nn.Linear(width, width))
        layers.append(nn.Sigmoid())
    layers.append(nn.Linear(width, 2))
    return nn.Sequential(*layers)


def moons(n, seed):
    x, y = make_moons(n_samples=n, noise=0.1, random_state=seed)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def main():
    x, y = moons(1000, 0)
    xt, yt = moons(300, 1)
    net = make_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(8):
        for idx in torch.randperm(len(x)).split(25):
            optimizer.zero_grad()
            loss = loss_fn(net(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            acc = (net(xt).argmax(1) == yt).float().mean().item()
        print(f"epoch {epoch}: loss {loss.item():.4f} accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
