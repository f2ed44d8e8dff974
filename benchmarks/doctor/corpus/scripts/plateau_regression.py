import torch
import torch.nn as nn
import torch.optim as optim


class Battery(nn.Module):
    def __init__(self, inputs=6):
        super().__init__()
        self.fc1 = nn.Linear(inputs, 50)
        self.fc2 = nn.Linear(50, 50)
        self.fc3 = nn.Linear(50, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x).squeeze(-1)


def cycles(n):
    x = torch.randn(n, 6)
    health = torch.tanh(x[:, 0] - x[:, 1]) + 0.3 * x[:, 2] * x[:, 3]
    return x, health + 0.1 * torch.randn(n)


torch.manual_seed(129)
(x, y), (x_val, y_val) = cycles(600), cycles(200)
net = Battery()
criterion = nn.MSELoss()
optimizer = optim.Adam(net.parameters(), lr=5e-3)
scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)
for epoch in range(20):
    for rows in torch.randperm(600).split(60):
        optimizer.zero_grad()
        loss = criterion(net(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        val = criterion(net(x_val), y_val)
    scheduler.step(val)
    if epoch % 4 == 0:
        print(f"epoch {epoch:2d} val {val.item():.4f} lr {optimizer.param_groups[0]['lr']:.5f}")
