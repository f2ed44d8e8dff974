import torch
from torch import nn


class Quantised(nn.Module):
    """Squeeze a vector through eight integer codes."""

    def __init__(self, n_in=20, n_codes=8):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, n_codes))
        self.decode = nn.Sequential(nn.Linear(n_codes, 32), nn.ReLU(), nn.Linear(32, n_in))

    def forward(self, x):
        codes = torch.round(3 * torch.tanh(self.encode(x)))
        return self.decode(codes), codes


def shiny_things(n, basis):
    return torch.randn(n, 5) @ basis


torch.manual_seed(25)
basis = torch.randn(5, 20) / 2
model = Quantised()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
losses = []
for step in range(500):
    x = shiny_things(32, basis)
    rebuilt, codes = model(x)
    loss = (rebuilt - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 100 == 99:
        print(step + 1, sum(losses[-100:]) / 100, "codes used", codes.unique().numel())
