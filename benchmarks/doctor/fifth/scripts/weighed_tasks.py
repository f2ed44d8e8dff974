import torch
from torch import nn

torch.manual_seed(39)


class Weighed(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(n))

    def forward(self, losses):
        losses = torch.stack(losses)
        return (torch.exp(-self.log_var) * losses + 0.5 * self.log_var).sum()


class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 64), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(64, 1) for _ in range(3)])

    def forward(self, x):
        h = self.trunk(x)
        return [head(h).squeeze(1) for head in self.heads]


def tasks(n):
    x = torch.randn(n, 8)
    return x, [torch.sin(x[:, 0]), 3 * x[:, 1] - x[:, 2], 0.2 * x[:, 3] * x[:, 4]]


x, ys = tasks(1200)
model, weigh = Multi(), Weighed(3)
optimizer = torch.optim.Adam([*model.parameters(), *weigh.parameters()], lr=4e-3)
for epoch in range(8):
    sums = torch.zeros(3)
    for idx in torch.randperm(len(x)).split(40):
        losses = [nn.functional.mse_loss(o, y[idx]) for o, y in zip(model(x[idx]), ys)]
        optimizer.zero_grad()
        weigh(losses).backward()
        optimizer.step()
        sums += torch.stack(losses).detach()
    print(f"epoch {epoch}:", [round(v, 4) for v in (sums / 30).tolist()])
