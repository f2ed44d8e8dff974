import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class BeadData:
    def __init__(self, n=800, seed=0):
        rng = np.random.RandomState(seed)
        self.x = rng.randn(n, 8).astype(np.float32)
        self.y = (self.x[:, 0] + self.x[:, 1] - self.x[:, 2] > 0).astype(np.int64)
        self.rng = rng

    def split(self, share=0.8):
        self.x = self.x[self.rng.permutation(len(self.x))]
        self.y = self.y[self.rng.permutation(len(self.y))]
        cut = int(share * len(self.x))
        parts = ((self.x[:cut], self.y[:cut]), (self.x[cut:], self.y[cut:]))
        return [TensorDataset(torch.from_numpy(a), torch.from_numpy(b)) for a, b in parts]


def main():
    torch.manual_seed(0)
    train, val = BeadData().split()
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(8):
        model.train()
        for x, y in DataLoader(train, batch_size=32, shuffle=True):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            x, y = val.tensors
            print(epoch, f"{loss.item():.4f}", f"{(model(x).argmax(1) == y).float().mean().item():.3f}")


main()
