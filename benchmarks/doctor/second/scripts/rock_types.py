"""Rock types from borehole logs."""
import torch
import torch.nn as nn

config = dict(hidden=96, drop=0.4, lr=2e-3, epochs=8, batch=64, classes=5)


class BoreholeNet(nn.Module):
    def __init__(self, inputs, cfg):
        super().__init__()
        self.drop = cfg["drop"]
        self.first = nn.Linear(inputs, cfg["hidden"])
        self.second = nn.Linear(cfg["hidden"], cfg["hidden"])
        self.out = nn.Linear(cfg["hidden"], cfg["classes"])

    def forward(self, x):
        h = torch.relu(self.first(x))
        h = nn.Dropout(self.drop)(h)
        h = torch.relu(self.second(h))
        h = nn.Dropout(self.drop)(h)
        return self.out(h)


def logs(n, centres):
    y = torch.randint(0, len(centres), (n,))
    return (centres[y] + 1.1 * torch.randn(n, centres.size(1))) / 1.5, y


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def run(cfg):
    torch.manual_seed(2109)
    centres = torch.randn(cfg["classes"], 9)
    x, y = logs(1000, centres)
    tx, ty = logs(400, centres)
    net = BoreholeNet(9, cfg)
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    for epoch in range(cfg["epochs"]):
        net.train()
        for idx in torch.randperm(len(x)).split(cfg["batch"]):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.3f} test {accuracy(net, tx, ty):.3f}")


run(config)
