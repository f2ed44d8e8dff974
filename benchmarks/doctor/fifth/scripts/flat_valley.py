import torch
from sklearn.datasets import make_moons
from torch import nn


class SAM:
    def __init__(self, params, base, rho=0.05, **kwargs):
        self.params = list(params)
        self.base = base(self.params, **kwargs)
        self.rho = rho

    def zero_grad(self):
        self.base.zero_grad()

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm() + 1e-12
        self.moves = [self.rho * p.grad / norm for p in self.params]
        for p, move in zip(self.params, self.moves):
            p.add_(move)

    @torch.no_grad()
    def descend(self):
        for p, move in zip(self.params, self.moves):
            p.sub_(move)
        self.base.step()


def moons(seed):
    x, y = make_moons(800, noise=0.15, random_state=seed)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


torch.manual_seed(15)
x, y = moons(0)
xv, yv = moons(1)
model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
opt = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
for epoch in range(10):
    for idx in torch.randperm(len(x)).split(40):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        opt.climb()
        opt.zero_grad()
        nn.functional.cross_entropy(model(x[idx]), y[idx]).backward()
        opt.descend()
    if epoch % 2:
        with torch.no_grad():
            acc = (model(xv).argmax(1) == yv).float().mean()
        print(f"epoch {epoch}: loss {loss.item():.4f} acc {acc:.3f}")
