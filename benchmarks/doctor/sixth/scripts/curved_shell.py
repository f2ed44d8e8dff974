import torch
from torch import nn

torch.manual_seed(0)
t = torch.linspace(-2, 2, 120)[:, None]
curve = torch.sin(3 * t) + 0.3 * t**2

model = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.8, max_iter=10, line_search_fn="strong_wolfe")
criterion = nn.MSELoss()

for i in range(15):

    def closure():
        optimizer.zero_grad()
        loss = criterion(model(t), curve)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    print(i, loss.item())
