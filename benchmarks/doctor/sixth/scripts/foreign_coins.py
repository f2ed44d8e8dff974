import torch
import torch.nn as nn


class Coins:
    def __init__(self, n_train=600, n_val=200):
        x = torch.rand(n_train + n_val, 6) * torch.tensor([5.0, 30.0, 2.0, 10.0, 1.0, 50.0]) + 3
        y = (x[:, 0] / 5 + x[:, 1] / 30 > x[:, 3] / 10 + x[:, 2] / 2 - 0.7).long()
        self.train_x, self.val_x = x[:n_train], x[n_train:]
        self.train_y, self.val_y = y[:n_train], y[n_train:]

    def prepare(self):
        mean, std = self.train_x.mean(0), self.train_x.std(0)
        self.train_x = (self.train_x - mean) / std
        self.val_x = self.val_x / self.val_x.max(0).values
        return self


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(1)
    coins = Coins().prepare()
    model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(10):
        model.train()
        for rows in torch.randperm(600).split(30):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(coins.train_x[rows]), coins.train_y[rows])
            loss.backward()
            optimizer.step()
        print(
            f"epoch {epoch} loss {loss.item():.4f} train {accuracy(model, coins.train_x, coins.train_y):.3f}"
            f" val {accuracy(model, coins.val_x, coins.val_y):.3f}"
        )
