import numpy as np
import torch
from torch import nn

COLUMNS = ["area", "rooms", "age", "distance", "floor", "price"]


def make_table(n, seed):
    rng = np.random.default_rng(seed)
    area = rng.gamma(6, 15, n)
    rooms = np.round(area / 28 + rng.normal(0, 0.6, n)).clip(1)
    age = rng.uniform(0, 90, n)
    distance = rng.exponential(6, n)
    floor = rng.integers(0, 9, n)
    price = 3.1 * area + 12 * rooms - 0.9 * age - 7 * distance + 2 * floor + rng.normal(0, 40, n)
    return np.stack([area, rooms, age, distance, floor, price], axis=1)


def standardise(table, mean, std):
    return torch.tensor((table - mean) / std, dtype=torch.float32)


def main():
    torch.manual_seed(0)
    train, test = make_table(900, 0), make_table(250, 1)
    mean, std = train.mean(0), train.std(0)
    train, test = standardise(train, mean, std), standardise(test, mean, std)
    target = COLUMNS.index("price")
    x_train, y_train = train, train[:, target]
    x_test, y_test = test, test[:, target]

    model = nn.Sequential(nn.Linear(x_train.shape[1], 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(8):
        for idx in torch.randperm(len(x_train)).split(30):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x_train[idx]).squeeze(1), y_train[idx])
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            error = (model(x_test).squeeze(1) - y_test).pow(2).mean().item()
        print(f"epoch {epoch}: test r2 {1 - error / y_test.var().item():.4f}")


main()
