import torch
import torch.nn as nn
import torch.nn.functional as F


class PatternNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.fc1 = nn.Linear(8 * 36, 32)
        self.fc2 = nn.Linear(32, 2)
        self.apply(self.init_weights)

    @staticmethod
    def init_weights(m):
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            nn.init.zeros_(m.weight)
            nn.init.zeros_(m.bias)

    def forward(self, x):
        x = F.relu(self.conv(x)).flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


def patterns(n):
    """checkerboard against stripes, with noise"""
    i, j = torch.meshgrid(torch.arange(8), torch.arange(8), indexing="ij")
    kinds = torch.stack([((i + j) % 2) * 2.0 - 1, (j % 2) * 2.0 - 1])
    y = torch.randint(0, 2, (n,))
    flip = torch.randint(0, 2, (n, 1, 1)) * 2.0 - 1
    return (flip * kinds[y] + 0.8 * torch.randn(n, 8, 8)).unsqueeze(1), y


torch.manual_seed(41)
x, y = patterns(300)
x_test, y_test = patterns(100)
model = PatternNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    for part in torch.randperm(300).split(30):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[part]), y[part])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print("epoch", epoch, "loss", round(loss.item(), 4), "acc", acc)
