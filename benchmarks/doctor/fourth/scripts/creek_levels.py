import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 32)
        self.norm = nn.BatchNorm1d(32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.norm(self.fc1(x))))


torch.manual_seed(0)
x = torch.randn(801, 6)
y = x[:, :1] * x[:, 1:2] + 0.1 * torch.randn(801, 1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
