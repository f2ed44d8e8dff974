import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
side, classes = 12, 6


def lamps(n):
    labels = torch.randint(0, classes, (n,))
    images = 0.3 * torch.randn(n, 1, side, side)
    for i, c in enumerate(labels.tolist()):
        images[i, 0, 2 * c : 2 * c + 2, :] += 1.0
    return images, labels


class LampNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(
            nn.Linear(8 * 36, 48),
            nn.ReLU(),
            nn.Linear(48, classes),
            nn.ReLU(),
        )

    def forward(self, x):
        return self.head(self.stem(x).flatten(1))


model = LampNet()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
x_train, y_train = lamps(512)
x_test, y_test = lamps(200)

for epoch in range(6):
    order = torch.randperm(len(x_train))
    total = 0.0
    for rows in order.split(32):
        logits = model(x_train[rows])
        loss = F.cross_entropy(logits, y_train[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(rows)
    with torch.no_grad():
        accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"{epoch}: loss {total / len(x_train):.3f}, accuracy {accuracy:.3f}")
