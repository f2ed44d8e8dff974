import numpy as np
import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from torch import nn


def run_fold(x_tr, y_tr, x_va, y_va, epochs=15):
    scaler = StandardScaler().fit(x_tr)
    x_tr = torch.tensor(scaler.transform(x_tr), dtype=torch.float32)
    x_va = torch.tensor(scaler.transform(x_va), dtype=torch.float32)
    y_tr, y_va = torch.tensor(y_tr), torch.tensor(y_va)
    model = nn.Sequential(nn.Linear(13, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    first = None
    for _ in range(epochs):
        model.train()
        for idx in torch.randperm(len(x_tr)).split(16):
            loss = nn.functional.cross_entropy(model(x_tr[idx]), y_tr[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            first = first or loss.item()
    model.eval()
    with torch.no_grad():
        return first, loss.item(), (model(x_va).argmax(1) == y_va).float().mean().item()


torch.manual_seed(49)
wine = load_wine()
scores = []
folds = StratifiedKFold(4, shuffle=True, random_state=0)
for fold, (train, valid) in enumerate(folds.split(wine.data, wine.target)):
    first, last, score = run_fold(wine.data[train], wine.target[train], wine.data[valid], wine.target[valid])
    scores.append(score)
    print(f"fold {fold}: loss {first:.3f} -> {last:.3f} accuracy {score:.3f}")
print(f"mean {np.mean(scores):.3f}")
