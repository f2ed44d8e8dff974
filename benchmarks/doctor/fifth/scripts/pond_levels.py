import numpy as np
import torch
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Levels(Dataset):
    def __init__(self, x, y, mean, std, noise=0.0):
        self.x = torch.tensor((x - mean) / std, dtype=torch.float32)
        self.y = torch.tensor(y, dtype=torch.float32)
        self.noise = noise

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]
        if self.noise:
            x = x + self.noise * torch.randn_like(x)
        return x, self.y[i]


def main():
    torch.manual_seed(6)
    x, y = make_friedman1(n_samples=1200, n_features=6, noise=0.2, random_state=6)
    x_tr, x_va, y_tr, y_va = train_test_split(x, y, test_size=0.25, random_state=6)
    stats = x_tr.mean(0), x_tr.std(0)
    offset, unit = float(np.mean(y_tr)), float(np.std(y_tr))
    train = DataLoader(Levels(x_tr, (y_tr - offset) / unit, *stats, noise=0.05), batch_size=30, shuffle=True)
    valid = DataLoader(Levels(x_va, (y_va - offset) / unit, *stats), batch_size=100)
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(8):
        model.train()
        for xb, yb in train:
            loss = nn.functional.mse_loss(model(xb).squeeze(1), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            errors = torch.cat([(model(xb).squeeze(1) - yb) ** 2 for xb, yb in valid])
        print(f"epoch {epoch}: train {loss.item():.4f} valid {errors.mean():.4f}")


main()
