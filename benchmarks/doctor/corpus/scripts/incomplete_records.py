import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def records(n):
    x = torch.randn(n, 8)
    y = (x[:, 0] + x[:, 1] - 0.5 * x[:, 2] > 0).float().unsqueeze(1)
    x[torch.rand(n, 8) < 0.15] = float("nan")
    return x, y


def impute(x, mean):
    missing = torch.isnan(x)
    return torch.cat([torch.where(missing, mean, x), missing.float() - 0.15], dim=1)


torch.manual_seed(189)
x, y = records(900)
x_test, y_test = records(300)
mean = x.nanmean(0)
train = DataLoader(TensorDataset(impute(x, mean), y), batch_size=45, shuffle=True)

net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
bce = nn.BCEWithLogitsLoss()
for epoch in range(6):
    total = 0.0
    for xb, yb in train:
        opt.zero_grad()
        loss = bce(net(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item() / len(train)
    print(f"epoch {epoch}: {total:.3f}")
with torch.no_grad():
    print("accuracy", ((net(impute(x_test, mean)) > 0).float() == y_test).float().mean().item())
