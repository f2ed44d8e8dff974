import torch
from torch import nn

torch.manual_seed(37)


class Shop(nn.Module):
    def __init__(self, items=50, dim=8):
        super().__init__()
        self.items = nn.Embedding(items, dim)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, pair):
        return self.mlp(self.items(pair).flatten(1)).squeeze(1)


quality = torch.randn(50)


def pairs(n):
    pair = torch.randint(0, 50, (n, 2))
    return pair, (quality[pair[:, 0]] > quality[pair[:, 1]]).float()


x, y = pairs(2000)
xv, yv = pairs(400)
model = Shop()
opt_table = torch.optim.SGD(model.items.parameters(), lr=2.0)
opt_rest = torch.optim.Adam(model.mlp.parameters(), lr=3e-3)
for epoch in range(6):
    for idx in torch.randperm(len(x)).split(50):
        loss = nn.functional.binary_cross_entropy_with_logits(model(x[idx]), y[idx])
        for opt in (opt_table, opt_rest):
            opt.zero_grad()
        loss.backward()
        for opt in (opt_table, opt_rest):
            opt.step()
    with torch.no_grad():
        acc = ((model(xv) > 0) == yv.bool()).float().mean()
    print(f"epoch {epoch}: loss {loss.item():.3f} acc {acc:.3f}")
