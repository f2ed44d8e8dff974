import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore", category=DeprecationWarning)
torch.manual_seed(28)


class Decay(nn.Module):
    def __init__(self, n_in: int, steps: int):
        super().__init__()
        self.steps = steps
        self.mix = nn.Linear(n_in, n_in)
        self.out = nn.Linear(n_in, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x
        for _ in range(self.steps):
            h = h + 0.5 * torch.tanh(self.mix(h))
        return self.out(h).squeeze(1)


def data(n: int):
    x = torch.randn(n, 6)
    return x, torch.sin(x[:, 0] + x[:, 1]) + 0.5 * x[:, 2]


model = torch.jit.script(Decay(6, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x, y = data(1200)
xv, yv = data(300)
for epoch in range(6):
    model.train()
    for idx in torch.randperm(len(x)).split(40):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(f"epoch {epoch}: train {loss.item():.4f} valid {nn.functional.mse_loss(model(xv), yv):.4f}")
