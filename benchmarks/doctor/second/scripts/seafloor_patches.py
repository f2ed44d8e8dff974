import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2101)
MICRO, ACCUM, EPOCHS = 4, 8, 3


def seafloor(n):
    """sand ripples, rock or mud as 12 x 12 sonar patches"""
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 1, 12, 12)
    ripples = torch.sin(torch.arange(12) * 1.6).view(1, 1, 12, 1)
    blob = torch.zeros(1, 1, 12, 12)
    blob[..., 3:9, 3:9] = 1.5
    x = x + ripples * (y == 0).view(-1, 1, 1, 1) + blob * (y == 1).view(-1, 1, 1, 1)
    return (x - 0.1) / 1.15, y


class SeafloorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1, bias=False),
            nn.BatchNorm2d(12),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1, bias=False),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.out = nn.Linear(24, 3)

    def forward(self, x):
        return self.out(self.body(x).flatten(1))


net = SeafloorNet()
loader = DataLoader(TensorDataset(*seafloor(384)), batch_size=MICRO, shuffle=True)
test_x, test_y = seafloor(200)
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(EPOCHS):
    net.train()
    running = 0.0
    opt.zero_grad()
    for i, (x, y) in enumerate(loader, start=1):
        loss = loss_fn(net(x), y) / ACCUM
        loss.backward()
        running += loss.item()
        if i % ACCUM == 0:
            opt.step()
            opt.zero_grad()
    net.eval()
    with torch.no_grad():
        acc = (net(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {running * ACCUM / len(loader):.3f} accuracy {acc:.3f}")
