import torch
import torch.nn as nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, inputs, width, depth, outputs):
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.hidden = [nn.Linear(width, width) for _ in range(depth)]
        self.last = nn.Linear(width, outputs)

    def forward(self, x):
        x = F.relu(self.first(x))
        for layer in self.hidden:
            x = x + F.relu(layer(x))
        return self.last(x)


def main():
    torch.manual_seed(0)
    x = torch.randn(2000, 10)
    y = (x.pow(2) @ torch.rand(10, 4)).argmax(1)
    model = Tower(10, 32, 3, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(5):
        total = 0.0
        for idx in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / 40:.4f} ({sum(p.numel() for p in model.parameters())} parameters)")


main()
