"""Forecast wind power from the last readings."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(n=1024, lags=10):
    t = torch.linspace(0, 80, n + lags)
    series = torch.sin(t) + 0.4 * torch.sin(2.7 * t) + 0.05 * torch.randn(n + lags)
    x = series.unfold(0, lags, 1)[:n]
    y = series[lags:lags + n].unsqueeze(1)
    return x, y


def train(model, loader, optimizer, criterion, epochs=4):
    for epoch in range(epochs):
        model.train()
        running_loss = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running_loss += loss
        print(f"epoch {epoch}: {running_loss / len(loader):.4f}")


def main():
    torch.manual_seed(0)
    x, y = make_data()
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train(model, loader, optimizer, nn.MSELoss())


if __name__ == "__main__":
    main()
