import torch
from sklearn.datasets import load_digits
from torch import nn


class Garden(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(64, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.out = nn.Linear(width, 10)

    def forward(self, x):
        return self.out(self.inner(x))


def build_optimizer(model, name="adam", lr=1e-3, decay=0.1):
    if name == "adam":
        return torch.optim.Adam(model.parameters(), lr=lr, weight_decay=decay)
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=decay)


def main():
    torch.manual_seed(1)
    d = load_digits()
    x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
    model = Garden()
    optimizer = build_optimizer(model)
    for epoch in range(8):
        model.train()
        total = 0.0
        for idx in torch.randperm(1400).split(40):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = (model(x[1400:]).argmax(1) == y[1400:]).float().mean().item()
        print(f"epoch {epoch}: loss {total / 35:.3f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
