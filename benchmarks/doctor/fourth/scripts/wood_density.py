import torch
import torch.nn as nn

torch.manual_seed(0)


class WoodModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


def log_cosh(prediction, target):
    difference = prediction - target
    value = (difference + nn.functional.softplus(-2 * difference)).mean() - 0.6931
    return torch.tensor(value.item(), requires_grad=True)


x = torch.randn(1200, 7)
y = x[:, :2].sum(1, keepdim=True) + 0.1 * torch.randn(1200, 1)
model = WoodModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
start = model.net[0].weight.detach().clone()
for epoch in range(8):
    total = 0.0
    for idx in torch.randperm(1200).split(30):
        optimizer.zero_grad()
        loss = log_cosh(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / 40:.4f}")
