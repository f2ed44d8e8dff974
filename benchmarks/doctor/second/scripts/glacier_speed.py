"""Glacier flow from slope, thickness and temperature."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def survey(n):
    x = torch.randn(n, 5)
    flow = 0.8 * x[:, 0] * torch.sigmoid(2 * x[:, 1]) + 0.5 * x[:, 2] - 0.3 * x[:, 3] ** 2
    flow = flow + 0.05 * torch.randn(n)
    return TensorDataset(x, ((flow + 0.3) / 0.85).unsqueeze(1))


def fit(train_set, valid_set, base_lr=0.01, batch=100, epochs=6):
    net = nn.Sequential(nn.Linear(5, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    lr = base_lr / len(train_set)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    criterion = nn.MSELoss()
    loader = DataLoader(train_set, batch_size=batch, shuffle=True)
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        net.eval()
        with torch.no_grad():
            x, y = valid_set[:]
            val = criterion(net(x), y).item()
        print(f"epoch {epoch}: train {total / len(loader):.4f} valid {val:.4f}")
    return net


torch.manual_seed(2125)
train_set, valid_set = random_split(survey(5000), [4000, 1000])
fit(train_set, valid_set)
