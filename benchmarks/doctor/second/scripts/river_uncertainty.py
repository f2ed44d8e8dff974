"""Monte-Carlo dropout: predictive spread of a water-level model."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(55)


class LevelNet(nn.Module):
    def __init__(self, p=0.1):
        super().__init__()
        self.p = p
        self.a = nn.Linear(4, 96)
        self.b = nn.Linear(96, 96)
        self.c = nn.Linear(96, 1)

    def forward(self, x):
        h = F.relu(self.a(x))
        h = F.dropout(h, self.p, training=True)  # vitruvius: allow dropout_in_eval
        h = F.relu(self.b(h))
        h = F.dropout(h, self.p, training=True)  # vitruvius: allow dropout_in_eval
        return self.c(h).squeeze(1)


def gauge(n, scale=1.0):
    rain = scale * torch.randn(n, 4)
    level = rain[:, 0] + 0.6 * rain[:, 1] * rain[:, 2] - 0.3 * rain[:, 3] ** 2
    return rain, level + 0.1 * torch.randn(n)


x, y = gauge(1000)
model = LevelNet()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(15):
    model.train()
    losses = []
    for idx in torch.randperm(len(x)).split(50):
        loss = F.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if epoch % 3 == 0:
        print(f"epoch {epoch}: {sum(losses) / len(losses):.3f}")

model.eval()
for name, scale in (("usual", 1.0), ("flood", 2.5)):
    xt, yt = gauge(200, scale)
    with torch.no_grad():
        draws = torch.stack([model(xt) for _ in range(30)])
    print(f"{name}: rmse {(draws.mean(0) - yt).pow(2).mean().sqrt():.3f} spread {draws.std(0).mean():.3f}")
