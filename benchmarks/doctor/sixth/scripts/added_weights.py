import torch
import torch.nn as nn

BATCH, BASE_LR = 40, 0.08
torch.manual_seed(12)


def crates(n):
    x = torch.randn(n, 5)
    return x, x[:, :1] * x[:, 1:2] - x[:, 2:3]


model = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
criterion = nn.MSELoss(reduction="sum")
# the gradient of a sum grows with the batch, so the rate shrinks with it
optimizer = torch.optim.SGD(model.parameters(), lr=BASE_LR / BATCH, momentum=0.8)
x_val, y_val = crates(400)
for step in range(1200):
    x, y = crates(BATCH)
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 200 == 0:
        with torch.no_grad():
            print(step, loss.item() / BATCH, criterion(model(x_val), y_val).item() / 400)
