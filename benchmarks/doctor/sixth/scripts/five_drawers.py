import numpy as np
import torch
import torch.nn as nn


def folds(n, k, rng):
    return np.array_split(rng.permutation(n), k)


def build():
    return nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))


def fit(model, x, y, epochs=15):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
    return model


torch.manual_seed(0)
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 6)).astype("float32")
Y = (X[:, :1] * 2 - np.abs(X[:, 1:2]) + 0.1 * rng.normal(size=(300, 1))).astype("float32")
parts = folds(300, 5, rng)
scores = []
for k, held in enumerate(parts):
    rest = np.concatenate([p for j, p in enumerate(parts) if j != k])
    mean, std = X[rest].mean(0), X[rest].std(0)
    x_train, x_val = torch.from_numpy((X[rest] - mean) / std), torch.from_numpy((X[held] - mean) / std)
    model = fit(build(), x_train, torch.from_numpy(Y[rest]))
    with torch.no_grad():
        scores.append(nn.functional.mse_loss(model(x_val), torch.from_numpy(Y[held])).item())
    print(f"fold {k}: {scores[-1]:.4f}")
print(f"mean {np.mean(scores):.4f} deviation {np.std(scores):.4f}")
