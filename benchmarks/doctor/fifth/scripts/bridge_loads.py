import torch
from sklearn.datasets import make_regression
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_data(seed=9):
    x, y = make_regression(n_samples=300, n_features=30, n_informative=8, noise=25.0, random_state=seed)
    y = y / y.std()
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    train = TensorDataset(x[:200], y[:200])
    test = TensorDataset(x[200:], y[200:])
    return train, test


def loaders(batch_size=20):
    train_set, test_set = get_data()
    train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
    test_loader = DataLoader(train_set, batch_size=100, shuffle=False)
    print(len(train_set), "train rows,", len(test_set), "test rows")
    return train_loader, test_loader


@torch.no_grad()
def test(model, loader):
    model.eval()
    errors = [((model(x).squeeze(1) - y) ** 2) for x, y in loader]
    return torch.cat(errors).mean().item()


torch.manual_seed(9)
train_loader, test_loader = loaders()
model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(30):
    model.train()
    for x, y in train_loader:
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 6 == 5:
        print(f"epoch {epoch + 1}: test mse {test(model, test_loader):.4f}")
