import torch
from torch import nn


class SAM:
    def __init__(self, params, base, rho=0.05, **kwargs):
        self.params = list(params)
        self.base = base(self.params, **kwargs)
        self.rho = rho
        self.moves = []

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm()
        self.moves = [p.grad * (self.rho / (norm + 1e-12)) for p in self.params]
        for p, e in zip(self.params, self.moves):
            p.add_(e)
        self.base.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, e in zip(self.params, self.moves):
            p.sub_(e)
        self.base.step()
        self.base.zero_grad()


def hills(n):
    x = torch.randn(n, 8)
    return x, (x[:, :4].norm(dim=1) > x[:, 4:].norm(dim=1)).long()


torch.manual_seed(9)
model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 2))
sam = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()
x_val, y_val = hills(400)
for step in range(500):
    x, y = hills(40)
    loss = criterion(model(x), y)
    loss.backward()
    sam.climb()
    criterion(model(x), y).backward()
    sam.descend()
    if step % 100 == 99:
        with torch.no_grad():
            print(step + 1, loss.item(), (model(x_val).argmax(1) == y_val).float().mean().item())
