import torch
from torch import nn


class Ratings(nn.Module):
    def __init__(self, users=60, books=40, k=6):
        super().__init__()
        self.u = nn.Embedding(users, k, sparse=True)
        self.b = nn.Embedding(books, k, sparse=True)
        self.bias_u = nn.Parameter(torch.zeros(users))
        self.bias_b = nn.Parameter(torch.zeros(books))
        nn.init.normal_(self.u.weight, std=0.3)
        nn.init.normal_(self.b.weight, std=0.3)

    def forward(self, user, book):
        return (self.u(user) * self.b(book)).sum(-1) + self.bias_u[user] + self.bias_b[book]


torch.manual_seed(0)
truth = torch.randn(60, 3) @ torch.randn(3, 40) + torch.randn(60, 1)
pairs = torch.cartesian_prod(torch.arange(60), torch.arange(40))[torch.randperm(2400)]
train, test = pairs[:1900], pairs[1900:]
model = Ratings()
sparse = torch.optim.SparseAdam([model.u.weight, model.b.weight], lr=2e-2)
dense = torch.optim.Adam([model.bias_u, model.bias_b], lr=2e-2)
for epoch in range(12):
    for part in train[torch.randperm(len(train))].split(50):
        user, book = part.t()
        loss = nn.functional.mse_loss(model(user, book), truth[user, book])
        sparse.zero_grad()
        dense.zero_grad()
        loss.backward()
        sparse.step()
        dense.step()
    with torch.no_grad():
        user, book = test.t()
        print(epoch, loss.item(), nn.functional.mse_loss(model(user, book), truth[user, book]).item())
