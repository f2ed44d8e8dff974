import torch
import torch.nn as nn


def enable_dropout(model):
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()


def questions(n):
    x = torch.rand(n, 1) * 4 - 2
    return x, torch.sin(2 * x) + 0.1 * torch.randn(n, 1)


torch.manual_seed(1)
model = nn.Sequential(
    nn.Linear(1, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1)
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
model.train()
for step in range(700):
    x, y = questions(48)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())

x, y = questions(300)
model.eval()
with torch.no_grad():
    print("error", nn.functional.mse_loss(model(x), y).item())
    enable_dropout(model)
    samples = torch.stack([model(x) for _ in range(20)])
    print("mean error", nn.functional.mse_loss(samples.mean(0), y).item(), "spread", samples.std(0).mean().item())
