import torch
from torch import nn

torch.manual_seed(14)
torch.set_default_dtype(torch.float64)


class Arch(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x)


x = torch.linspace(-2, 2, 120).unsqueeze(1)
y = torch.sin(3 * x) * torch.exp(-(x**2) / 2)
model = Arch()
optimizer = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=10, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for step in range(20):
    loss = optimizer.step(closure)
    if step % 4 == 3:
        print(f"step {step + 1}: mse {loss.item():.2e}")
