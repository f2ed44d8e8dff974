import torch
from sklearn.datasets import load_digits
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 4, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(4, 4, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.body(x))


def set_trainable(module, flag):
    for parameter in module.parameters():
        parameter.requires_grad = flag


def train(net, x, y, epochs, lr):
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(32):
            loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"  epoch {epoch}: {loss.item():.3f}")


def main():
    torch.manual_seed(1)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    y = torch.tensor(digits.target)
    net = Net()
    set_trainable(net.body, False)
    set_trainable(net.head, True)
    print("whole network")
    train(net, x[:1400], y[:1400], epochs=5, lr=3e-3)
    with torch.no_grad():
        print("accuracy", (net(x[1400:]).argmax(1) == y[1400:]).float().mean().item())


main()
