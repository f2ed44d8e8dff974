"""A gated network with sparse gates."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(231)


class Gated(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.value = nn.Linear(8, width)
        self.gate = nn.Linear(8, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        gate.data[gate.data < 0.6] = 0.0
        h = torch.tanh(self.value(x)) * gate
        return self.out(h).squeeze(1)


def sample(n=64):
    x = torch.randn(n, 8)
    return x, torch.sin(x[:, 0]) * x[:, 1] + 0.3 * x[:, 2]


model = Gated()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    x, y = sample()
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, f"{loss.item():.4f}")
