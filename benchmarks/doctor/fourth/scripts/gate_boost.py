import torch
import torch.nn as nn


class GateBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.value = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)

    def forward(self, x):
        g = torch.sigmoid(self.gate(x))
        g += 0.1
        return x + g * torch.tanh(self.value(x))


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 24), GateBlock(24), GateBlock(24), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
x = torch.randn(1000, 8)
y = x[:, :1].sin() + x[:, 1:2] * x[:, 2:3]
for epoch in range(5):
    for idx in torch.randperm(len(x)).split(50):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
with torch.no_grad():
    print("fit", nn.functional.mse_loss(model(x), y).item())
