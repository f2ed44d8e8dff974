import torch
from torch import nn

torch.manual_seed(43)
QUANTILES = torch.tensor([0.1, 0.5, 0.9])


def pinball(guess, y):
    error = y.unsqueeze(1) - guess
    return torch.maximum(QUANTILES * error, (QUANTILES - 1) * error).mean()


def rain(n):
    x = torch.rand(n, 1) * 4 - 2
    y = torch.sin(2 * x[:, 0]) + (0.2 + 0.2 * x[:, 0].abs()) * torch.randn(n)
    return x, y


x, y = rain(1500)
xv, yv = rain(500)
model = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(10):
    model.train()
    for idx in torch.randperm(len(x)).split(50):
        loss = pinball(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 2:
        model.eval()
        with torch.no_grad():
            guess = model(xv)
            below = (yv.unsqueeze(1) < guess).float().mean(0)
        print(f"epoch {epoch}: loss {pinball(guess, yv):.4f} share below {[round(v, 2) for v in below.tolist()]}")
