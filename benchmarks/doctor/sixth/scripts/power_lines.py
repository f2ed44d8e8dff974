import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(1)
hours = np.arange(1300)
load = 50 + 12 * np.sin(hours * 2 * np.pi / 24) + 5 * np.sin(hours * 2 * np.pi / 168) + rng.normal(0, 1, 1300)
cut = 1000
mean, std = load[:cut].mean(), load[:cut].std()
scaled = ((load - mean) / std).astype(np.float32)


def windows(series, length=24):
    x = np.stack([series[i : i + length] for i in range(len(series) - length)])
    return TensorDataset(torch.from_numpy(x)[..., None], torch.from_numpy(series[length:])[:, None])


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 20, batch_first=True)
        self.out = nn.Linear(20, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


torch.manual_seed(1)
train = DataLoader(windows(scaled[:cut]), batch_size=32, shuffle=True)
test = windows(scaled[cut:])
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    model.train()
    for x, y in train:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        x, y = test.tensors
        error = (model(x) - y).abs().mean().item() * std
    print(f"epoch {epoch} loss {loss.item():.4f} mean error {error:.2f} MW")
