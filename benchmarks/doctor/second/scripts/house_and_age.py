"""Price (regression) and age class of a house from the same trunk, weighted by learned noise levels."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoTasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(9, 64), nn.Tanh(), nn.Linear(64, 48), nn.Tanh())
        self.price = nn.Linear(48, 1)
        self.age = nn.Linear(48, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.price(h).squeeze(1), self.age(h)


class NoiseWeights(nn.Module):
    """Kendall et al. 2018"""

    def __init__(self, tasks):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(tasks))

    def forward(self, losses):
        losses = torch.stack(losses)
        return (losses * torch.exp(-self.log_var) + 0.5 * self.log_var).sum()


def houses(n):
    x = torch.randn(n, 9)
    price = x[:, 0] + 0.5 * x[:, 1] ** 2 - 0.5 + 0.3 * x[:, 2] + 0.2 * torch.randn(n)
    age = torch.bucketize(x[:, 3] + 0.5 * x[:, 0] + 0.2 * torch.randn(n), torch.tensor([-0.5, 0.5]))
    return x, price, age


torch.manual_seed(93)
x, price, age = houses(1200)
xt, pt, at = houses(300)
model, weigh = TwoTasks(), NoiseWeights(2)
optimizer = torch.optim.Adam([{"params": model.parameters()}, {"params": weigh.parameters(), "lr": 1e-2}], lr=3e-3)
for epoch in range(8):
    model.train()
    for idx in torch.randperm(len(x)).split(60):
        p, a = model(x[idx])
        loss = weigh([F.mse_loss(p, price[idx]), F.cross_entropy(a, age[idx])])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        p, a = model(xt)
        print(f"epoch {epoch}: price mse {F.mse_loss(p, pt):.3f} age accuracy {(a.argmax(1) == at).float().mean():.3f}"
              f" weights {[round(w, 2) for w in torch.exp(-weigh.log_var).tolist()]}")
