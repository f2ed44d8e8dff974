"""Estimate pump wear from operating data."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def operating_data(n):
    x = torch.randn(n, 9)
    wear = 0.5 * x[:, 0] ** 2 - 0.5 + x[:, 1] - 0.4 * x[:, 2] * x[:, 3]
    return x, (wear + 0.4 * torch.randn(n)).unsqueeze(1)


class WearNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(9, 64)
        self.mid = nn.Linear(64, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(F.relu(self.mid(F.relu(self.inp(x)))))


def validate(model, x, y):
    with torch.no_grad():
        return F.mse_loss(model(x), y).item()


torch.manual_seed(94)
x, y = operating_data(500)
x_train, y_train = x[:400], y[:400]
x_val, y_val = x[200:400], y[200:400]
model = WearNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
best = float("inf")
for epoch in range(30):
    for idx in torch.randperm(len(x_train)).split(40):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    score = validate(model, x_val, y_val)
    best = min(best, score)
    if epoch % 6 == 0:
        print(f"epoch {epoch:2d} train {loss.item():.3f} val {score:.3f}")
print(f"best validation mse {best:.3f}")
