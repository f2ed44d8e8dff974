import torch
from torch import nn


class CodeNet(nn.Module):
    """Encode to integer codes, classify from the codes."""

    def __init__(self, inputs=20, codes=6, classes=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, codes), nn.Tanh())
        self.levels = 3
        self.classifier = nn.Sequential(nn.Linear(codes, 32), nn.ReLU(), nn.Linear(32, classes))

    def forward(self, x):
        z = self.encoder(x) * self.levels
        codes = torch.round(z)
        return self.classifier(codes / self.levels)


class Experiment:
    def __init__(self, seed=0):
        torch.manual_seed(seed)
        self.protos = torch.randn(4, 20)
        self.model = CodeNet()
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=5e-3)

    def data(self, n):
        y = torch.randint(0, 4, (n,))
        return 0.5 * self.protos[y] + torch.randn(n, 20), y

    def train(self, steps):
        for step in range(steps):
            x, y = self.data(64)
            loss = self.criterion(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 50 == 0:
                print(f"step {step} loss {loss.item():.3f}")

    @torch.no_grad()
    def test(self):
        x, y = self.data(500)
        return (self.model(x).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    exp = Experiment()
    exp.train(200)
    print("test accuracy", exp.test())
