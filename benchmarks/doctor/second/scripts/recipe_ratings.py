import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(8)
torch.manual_seed(8)
USERS, RECIPES = 120, 80
taste, dish = rng.normal(size=(USERS, 3)), rng.normal(size=(RECIPES, 3))
u = rng.integers(0, USERS, 6000)
r = rng.integers(0, RECIPES, 6000)
score = np.tanh((taste[u] * dish[r]).sum(1)) + 0.1 * rng.normal(size=6000)
u, r, score = torch.tensor(u), torch.tensor(r), torch.tensor(score, dtype=torch.float32)
train, test = torch.arange(5000), torch.arange(5000, 6000)


class Ratings(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.user = nn.Embedding(USERS, dim)
        self.recipe = nn.Embedding(RECIPES, dim)
        self.mlp = nn.Sequential(nn.Linear(3 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, users, recipes):
        a, b = self.user(users), self.recipe(recipes)
        return self.mlp(torch.cat([a, b, a * b], dim=1)).squeeze(1)


model = Ratings()
tables = list(model.user.parameters()) + list(model.recipe.parameters())
opt_tables = torch.optim.Adagrad(tables, lr=0.1)
opt_mlp = torch.optim.Adam(model.mlp.parameters(), lr=3e-3)
for epoch in range(8):
    model.train()
    running = []
    for idx in train[torch.randperm(len(train))].split(100):
        model.zero_grad()
        loss = F.mse_loss(model(u[idx], r[idx]), score[idx])
        loss.backward()
        opt_tables.step()
        opt_mlp.step()
        running.append(loss.item())
    model.eval()
    with torch.no_grad():
        val = F.mse_loss(model(u[test], r[test]), score[test])
    print(f"{epoch}: train mse {np.mean(running):.3f}, held-out mse {val:.3f}")
