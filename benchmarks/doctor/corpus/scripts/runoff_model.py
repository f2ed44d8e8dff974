"""Rainfall to runoff with a small network."""
import torch
from torch import nn, optim


def rainfall(n):
    rain = torch.randn(n, 8)
    memory = torch.exp(-0.5 * torch.arange(8.0))
    flow = torch.relu(rain @ memory) + 0.05 * torch.randn(n)
    return rain, ((flow - 0.46) / 0.7).unsqueeze(1)


class Runoff:
    def __init__(self, lr):
        self.model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
        self.opt = optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)
        self.loss = nn.MSELoss()

    def step(self, rain, flow):
        self.opt.zero_grad()
        loss = self.loss(self.model(rain), flow)
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(61)
rain, flow = rainfall(400)
fitter = Runoff(lr=1.5)
for epoch in range(3):
    for idx in torch.randperm(400).split(80):
        value = fitter.step(rain[idx], flow[idx])
        print(f"epoch {epoch} mse {value:.4g}")
rain, flow = rainfall(100)
with torch.no_grad():
    print("validation", fitter.loss(fitter.model(rain), flow).item())
