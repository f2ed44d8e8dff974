"""Predict counts of rain days: a positive output by softplus."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(133)
weights = torch.randn(9) * 0.3


def days(n=64):
    x = torch.randn(n, 9)
    return x, torch.poisson(torch.exp(x @ weights + 0.5))


class RainNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(9, 48)
        self.fc2 = nn.Linear(48, 1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return F.softplus(self.fc2(x)).squeeze(1)


model = RainNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    x, y = days()
    loss = F.poisson_nll_loss(model(x), y, log_input=False, eps=1e-6)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, f"{loss.item():.4f}")
