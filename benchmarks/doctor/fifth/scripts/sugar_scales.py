import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(53)


def weights(n):
    x = torch.randn(n, 12)
    w = torch.linspace(-1, 1, 12)
    return x, (x @ w + 0.3 * x[:, 0] * x[:, 1] + 0.1 * torch.randn(n)).unsqueeze(1)


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


train_loader = DataLoader(TensorDataset(*weights(1280)), batch_size=64, shuffle=True)
x_test, y_test = weights(300)
model = Scale()
criterion = nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(5):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        error = (model(x_test) - y_test).pow(2).mean().item()
    print(f"epoch {epoch}: loss {loss.item():.4f} test mse {error:.4f}")
