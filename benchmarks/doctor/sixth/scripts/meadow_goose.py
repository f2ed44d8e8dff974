import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)


def flocks(n):
    y = torch.randint(0, 3, (n,))
    x = 0.8 * torch.randn(n, 2, 8, 8)
    for i in range(n):
        x[i, :, 2 * int(y[i]) : 2 * int(y[i]) + 3] += 0.8
    return x, y


class Goose(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.4)
        self.fc = nn.Linear(8 * 16, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.conv(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


def validate(model, x, y):
    loss = hits = 0
    with torch.no_grad():
        for rows in torch.arange(len(x)).split(16):
            out = model(x[rows])
            loss += F.cross_entropy(out, y[rows], reduction="sum").item()
            hits += (out.argmax(1) == y[rows]).sum().item()
    return loss / len(x), hits / len(x)


model = Goose()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
train_x, train_y = flocks(480)
val_x, val_y = flocks(160)
for epoch in range(6):
    model.train()
    for rows in torch.randperm(480).split(32):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(train_x[rows]), train_y[rows])
        loss.backward()
        optimizer.step()
    val_loss, val_acc = validate(model, val_x, val_y)
    print(f"epoch {epoch} train {loss.item():.4f} val {val_loss:.4f} acc {val_acc:.3f}")
