import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(20)

readings = torch.randn(600, 7)
ozone = 0.6 * readings[:, 0] - 0.3 * readings[:, 3] ** 2 + 0.3 + 0.1 * torch.randn(600)
readings[torch.rand(600) < 0.02, 5] = float("nan")
readings = readings - readings.nanmean(0)

ds = TensorDataset(readings[:480], ozone[:480, None])
dl = DataLoader(ds, batch_size=48, shuffle=True)
regressor = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(regressor.parameters(), lr=5e-3)
loss_fn = nn.MSELoss()

for epoch in range(8):
    mean_loss = 0.0
    for r, o in dl:
        opt.zero_grad()
        loss = loss_fn(regressor(r), o)
        loss.backward()
        opt.step()
        mean_loss += loss.item() / len(dl)
    print(f"epoch {epoch}: {mean_loss:.4f}")
with torch.no_grad():
    print("test:", loss_fn(regressor(readings[480:]), ozone[480:, None]).item())
