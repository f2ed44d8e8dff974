import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)


def fabric(n):
    """Three weaves with different periods."""
    y = torch.randint(0, 3, (n,))
    period = torch.tensor([2.0, 3.0, 5.0])[y].view(n, 1, 1)
    grid = torch.arange(12).float()
    shift = 6.28 * torch.rand(n, 1, 1)
    img = torch.sin(6.283 / period * grid.view(1, 1, 12) + shift) + 0.5 * torch.randn(n, 12, 12)
    return img.unsqueeze(1), y


class WeaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 12, 5, padding=2, bias=False)
        self.norm = nn.BatchNorm2d(12)
        self.fc = nn.Linear(12, 3)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        return self.fc(x.mean(dim=(2, 3)))


train_x, train_y = fabric(320)
test_x, test_y = fabric(128)
model = WeaveNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
micro, groups = 4, 8

for epoch in range(5):
    model.train()
    for chunk in torch.randperm(320).split(micro * groups):
        optimizer.zero_grad()
        for part in chunk.split(micro):
            loss = F.cross_entropy(model(train_x[part]), train_y[part]) / groups
            loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean()
    print(f"epoch {epoch} accuracy {acc:.3f}")
