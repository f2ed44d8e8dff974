import torch
import torch.nn as nn
import torch.nn.functional as F


class RippleNet(nn.Module):
    def __init__(self, width=32, depth=4):
        super().__init__()
        self.first = nn.Linear(2, width)
        self.hidden = [nn.Linear(width, width) for _ in range(depth)]
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        x = F.relu(self.first(x))
        for layer in self.hidden:
            x = F.relu(layer(x))
        return self.last(x)


torch.manual_seed(0)
grid = torch.rand(500, 2) * 4 - 2
height = torch.cos(3 * grid.norm(dim=1, keepdim=True)) * torch.exp(-0.3 * grid.norm(dim=1, keepdim=True))
x_train, y_train, x_test, y_test = grid[:400], height[:400], grid[400:], height[400:]

model = RippleNet()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(40):
    for b in torch.randperm(400).split(80):
        opt.zero_grad()
        loss = F.mse_loss(model(x_train[b]), y_train[b])
        loss.backward()
        opt.step()
    if epoch % 10 == 0:
        print(epoch, loss.item())

with torch.no_grad():
    print("test", F.mse_loss(model(x_test), y_test).item())
