"""Classify sea-ice patches; linear warm-up and decay of the learning rate."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, WARMUP = 6, 2


def schedule(step):
    if step < WARMUP:
        return (step + 1) / WARMUP
    return max(0.0, (EPOCHS - step) / (EPOCHS - WARMUP))


def ice(n):
    y = torch.randint(0, 3, (n,))
    x = 0.9 * torch.randn(n, 2, 10, 10)
    x[:, 0, 2:8, 2:8] += (y == 1).float()[:, None, None] * 1.2
    x[:, 1, :, ::2] += (y == 2).float()[:, None, None] * 1.2
    return x, y


class IceNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(2, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 4, 3)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.c1(x)), 2)
        x = nn.functional.adaptive_avg_pool2d(torch.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


torch.manual_seed(2130)
loader = DataLoader(TensorDataset(*ice(512)), batch_size=32, shuffle=True)
test_x, test_y = ice(200)
net = IceNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
for epoch in range(EPOCHS):
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
    net.eval()
    with torch.no_grad():
        acc = (net(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.4f} accuracy {acc:.3f}")
