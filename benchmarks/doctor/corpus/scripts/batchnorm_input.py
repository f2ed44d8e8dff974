"""Survey data with mixed units; the first layer standardises them."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def survey(n, seed):
    g = torch.Generator().manual_seed(seed)
    age = 18 + 60 * torch.rand(n, 1, generator=g)
    income = 20_000 + 60_000 * torch.rand(n, 1, generator=g)
    children = torch.randint(0, 4, (n, 1), generator=g).float()
    saves = (income / 40_000 + (age - 48) / 30 - 0.4 * children > 0.6).float()
    return torch.cat([age, income, children], 1), saves


class SavingsModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.standardise = nn.BatchNorm1d(3, affine=False)
        self.body = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.body(self.standardise(x))


torch.manual_seed(152)
loader = DataLoader(TensorDataset(*survey(800, 0)), batch_size=50, shuffle=True)
x_test, y_test = survey(300, 1)
model = SavingsModel()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
    model.eval()
    with torch.no_grad():
        acc = ((model(x_test) > 0).float() == y_test).float().mean().item()
    print(f"epoch {epoch}: {total:.3f}, test accuracy {acc:.3f}")
