import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)


class StepNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(9, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 5),
            nn.Dropout(0.35),
        )

    def forward(self, x):
        return self.net(x)


def sample(n):
    x = torch.randn(n, 9)
    score = torch.stack([x[:, i] + x[:, i + 4] for i in range(5)], 1)
    return x, score.argmax(1)


model = StepNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
x_val, y_val = sample(300)
for step in range(600):
    x, y = sample(32)
    model.train()
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        model.eval()
        with torch.no_grad():
            logits = model(x_val)
        print(step + 1, f"train {loss.item():.3f}", f"val {F.cross_entropy(logits, y_val).item():.3f}",
              f"acc {(logits.argmax(1) == y_val).float().mean().item():.3f}")
