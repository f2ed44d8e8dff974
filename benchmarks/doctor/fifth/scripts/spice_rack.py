import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(41)


class Regressor(nn.Module):
    def __init__(self, n_in, hidden, n_out, p=0.3):
        super().__init__()
        self.hidden = nn.Linear(n_in, hidden)
        self.act = nn.ReLU()
        self.out = nn.Linear(hidden, n_out)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        h = self.act(self.hidden(x))
        return self.drop(self.out(h))


def recipes(n):
    x = torch.rand(n, 6)
    mix = torch.tensor([[1.0, -1, 0.5, 0, 2, 1], [0, 1, 1, -2, 0.5, 1]])
    y = x @ mix.T + torch.sin(3 * x[:, :2]) + 0.05 * torch.randn(n, 2)
    return x * 2 - 1, y


x, y = recipes(1000)
xv, yv = recipes(250)
loader = DataLoader(TensorDataset(x, y), batch_size=25, shuffle=True)
model = Regressor(6, 64, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()

for epoch in range(10):
    model.train()
    for xb, yb in loader:
        loss = loss_fn(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(f"epoch {epoch:2d} train {loss.item():.4f} valid {loss_fn(model(xv), yv).item():.4f}")
