import torch
import torch.nn as nn

torch.manual_seed(123)


class TileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 10, 3)
        self.fc = nn.Linear(10 * 9, 4)

    def forward(self, x):
        h = torch.relu(self.conv(x))
        return self.fc(nn.functional.max_pool2d(h, 2).flatten(1))


tiles = torch.randn(4, 8, 8)


def mosaic(n):
    y = torch.randint(0, 4, (n,))
    return (tiles[y] + 0.9 * torch.randn(n, 8, 8)).unsqueeze(1) / 1.35, y


model = TileNet()
criterion = nn.CrossEntropyLoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
x, y = mosaic(480)
for epoch in range(6):
    epoch_sum = 0.0
    for idx in torch.randperm(480).split(32):
        batch_sum = criterion(model(x[idx]), y[idx])
        loss = batch_sum / len(idx)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_sum += batch_sum.item()
    print(f"epoch {epoch}: loss per image {epoch_sum / 480:.4f}")
x, y = mosaic(200)
with torch.no_grad():
    print("test accuracy", (model(x).argmax(1) == y).float().mean().item())
