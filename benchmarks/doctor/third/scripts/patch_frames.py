"""Label every frame of a signal with a temporal convolution."""
import torch
import torch.nn as nn

torch.manual_seed(84)
FRAMES, CLASSES = 12, 12
codes = torch.randn(CLASSES, 8)


def signals(n):
    y = torch.randint(0, CLASSES, (n, FRAMES))
    return codes[y] + 0.4 * torch.randn(n, FRAMES, 8), y


class FrameNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(8, 32, 3, padding=1)
        self.conv2 = nn.Conv1d(32, CLASSES, 1)

    def forward(self, x):
        x = x.transpose(1, 2)
        return self.conv2(torch.relu(self.conv1(x)))


model = FrameNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x_val, y_val = signals(200)
for step in range(120):
    model.train()
    x, y = signals(32)
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        model.eval()
        with torch.no_grad():
            pred = model(x_val).argmax(dim=1)
        print(f"step {step} loss {loss.item():.3f} acc {(pred == y_val).float().mean().item():.3f}")
