import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(54)


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, scale=2.0):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) * base.in_features**-0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = scale

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.down.T) @ self.up.T


def fit(model, x, y, epochs, lr):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(40):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            acc = (model(x).argmax(1) == y).float().mean().item()
        print(f"  epoch {epoch}: loss {loss.item():.3f} acc {acc:.3f}")


d = load_digits()
x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
low, high = y < 5, y >= 5
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 5))
print("digits 0 to 4")
fit(model, x[low], y[low], 4, 3e-3)
model[0], model[2] = LoRALinear(model[0]), LoRALinear(model[2])
model[4] = nn.Linear(32, 5)
print("digits 5 to 9")
fit(model, x[high], y[high] - 5, 6, 5e-3)
