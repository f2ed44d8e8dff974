import torch
import torch.nn as nn


class Gated(nn.Module):
    def __init__(self, features=20, width=32):
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(features))
        self.net = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, 1))

    def gates(self):
        return torch.sigmoid(self.gate)

    def forward(self, x):
        return self.net(x * self.gates())


torch.manual_seed(0)
x = torch.randn(2000, 20)
y = x[:, :1] - 2 * x[:, 3:4] + 0.1 * torch.randn(2000, 1)
model = Gated()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    for idx in torch.randperm(len(x)).split(40):
        error = nn.functional.mse_loss(model(x[idx]), y[idx])
        loss = error + 0.3 * model.gates().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        share = (model.gates() > 0.3).float().mean()
    print(f"epoch {epoch}: error {error.item():.4f} open {share:.2f}")
