"""Matrix factorisation of a small ratings table."""
import torch
import torch.nn as nn


class Factors(nn.Module):
    def __init__(self, users, items, rank):
        super().__init__()
        self.user = nn.Embedding(users, rank)
        self.item = nn.Embedding(items, rank)
        nn.init.normal_(self.user.weight, std=0.3)
        nn.init.normal_(self.item.weight, std=0.3)
        self.bias = nn.Embedding(items, 1)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)


torch.manual_seed(14)
U, I = 40, 30
table = (torch.randn(U, 3) @ torch.randn(3, I)) / 3**0.5
users, items = torch.meshgrid(torch.arange(U), torch.arange(I), indexing="ij")
triples = torch.randperm(U * I)
users, items, ratings = users.flatten()[triples], items.flatten()[triples], table.flatten()[triples]
train, test = slice(0, 960), slice(960, None)

model = Factors(U, I, rank=4)
criterion = nn.MSELoss()
lr = 0.4
for epoch in range(12):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    shuffled = torch.randperm(960)
    for batch in shuffled.split(96):
        u, i, r = users[train][batch], items[train][batch], ratings[train][batch]
        optimizer.zero_grad()
        loss = criterion(model(u, i), r)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        rmse = criterion(model(users[test], items[test]), ratings[test]).sqrt()
    print(f"epoch {epoch:2d} train {loss.item():.3f} test rmse {rmse.item():.3f}")
