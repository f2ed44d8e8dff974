"""Label every frame of a signal."""
import torch
import torch.nn as nn

torch.manual_seed(82)
FRAMES, CLASSES = 6, 6
codes = torch.randn(CLASSES, 8)


def signals(n):
    y = torch.randint(0, CLASSES, (n, FRAMES))
    return codes[y] + 0.4 * torch.randn(n, FRAMES, 8), y


class FrameNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 24, batch_first=True)
        self.out = nn.Linear(24, CLASSES)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.out(h)


model = FrameNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
x_val, y_val = signals(200)
for step in range(120):
    model.train()
    x, y = signals(32)
    logits = model(x)
    loss = criterion(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        model.eval()
        with torch.no_grad():
            pred = model(x_val).argmax(dim=-1)
        print(f"step {step} loss {loss.item():.3f} acc {(pred == y_val).float().mean().item():.3f}")
