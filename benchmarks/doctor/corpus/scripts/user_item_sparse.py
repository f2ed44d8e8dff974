import torch
from torch import nn

torch.manual_seed(142)
USERS, ITEMS = 300, 120
taste, trait = torch.randn(USERS, 2), torch.randn(ITEMS, 2)


def clicks(n):
    u, i = torch.randint(0, USERS, (n,)), torch.randint(0, ITEMS, (n,))
    return u, i, ((taste[u] * trait[i]).sum(1) > 0).float()


class ClickModel(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.user = nn.Embedding(USERS, dim, sparse=True)
        self.item = nn.Embedding(ITEMS, dim, sparse=True)
        self.mlp = nn.Sequential(nn.Linear(3 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, u, i):
        a, b = self.user(u), self.item(i)
        return self.mlp(torch.cat([a, b, a * b], 1)).squeeze(1)


model = ClickModel()
tables = [model.user.weight, model.item.weight]
sparse_opt = torch.optim.SparseAdam(tables, lr=5e-2)
dense_opt = torch.optim.Adam(model.mlp.parameters(), lr=5e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(300):
    u, i, y = clicks(256)
    loss = bce(model(u, i), y)
    sparse_opt.zero_grad()
    dense_opt.zero_grad()
    loss.backward()
    sparse_opt.step()
    dense_opt.step()
    if step % 60 == 0:
        print("step", step, "loss", round(loss.item(), 3))
u, i, y = clicks(2000)
with torch.no_grad():
    print("accuracy", ((model(u, i) > 0).float() == y).float().mean().item())
