import torch
from torch import nn

torch.manual_seed(5)
USERS, FILMS, RANK = 120, 80, 4
true_u, true_f = torch.randn(USERS, RANK) / 2, torch.randn(FILMS, RANK) / 2
pairs = torch.cartesian_prod(torch.arange(USERS), torch.arange(FILMS))
pairs = pairs[torch.randperm(len(pairs))[:5000]]
ratings = (true_u[pairs[:, 0]] * true_f[pairs[:, 1]]).sum(1) + 0.05 * torch.randn(len(pairs))
train, test = slice(0, 4500), slice(4500, 5000)


class Factors(nn.Module):
    def __init__(self, rank=RANK):
        super().__init__()
        self.users = nn.Embedding(USERS, rank)
        self.films = nn.Embedding(FILMS, rank)
        nn.init.normal_(self.users.weight, std=0.3)
        nn.init.normal_(self.films.weight, std=0.3)

    def forward(self, pair):
        return (self.users(pair[:, 0]) * self.films(pair[:, 1])).sum(1)


model = Factors()
optimizer = torch.optim.SGD(model.parameters(), lr=20.0)
for epoch in range(40):
    order = torch.randperm(4500)
    for idx in order.split(500):
        loss = nn.functional.mse_loss(model(pairs[train][idx]), ratings[train][idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 8 == 7:
        with torch.no_grad():
            error = nn.functional.mse_loss(model(pairs[test]), ratings[test]).item()
        print(f"epoch {epoch + 1}: train {loss.item():.4f} test {error:.4f}")
