import torch
import torch.nn as nn


class Gated(nn.Module):
    def __init__(self, features=20, width=32):
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(features))
        self.net = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, 1))

    def open_share(self):
        return (torch.sigmoid(self.gate) > 0.3).float().mean()

    def forward(self, x):
        return self.net(x * torch.sigmoid(self.gate))


class GateTrainer:
    def __init__(self, model, price=0.5):
        self.model, self.price = model, price
        self.opt = torch.optim.Adam(model.parameters(), lr=5e-3)

    def run(self, x, y, epochs):
        for epoch in range(epochs):
            for idx in torch.randperm(len(x)).split(40):
                error = nn.functional.mse_loss(self.model(x[idx]), y[idx])
                penalty = self.model.open_share()
                loss = error + self.price * penalty
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            print(f"epoch {epoch}: error {error.item():.4f} open {penalty.item():.2f}")


torch.manual_seed(0)
x = torch.randn(2000, 20)
y = x[:, :1] - 2 * x[:, 3:4] + 0.1 * torch.randn(2000, 1)
GateTrainer(Gated()).run(x, y, epochs=8)
