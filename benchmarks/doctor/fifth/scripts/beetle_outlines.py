import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(4)
torch.manual_seed(4)


def wings(n):
    kind = rng.integers(0, 3, n)
    angle = np.linspace(0, 2 * np.pi, 40)
    outline = 1 + 0.3 * np.cos((kind[:, None] + 2) * angle + rng.uniform(0, 6.28, (n, 1)))
    outline += 0.15 * rng.standard_normal((n, 40))
    return torch.tensor(outline[:, None], dtype=torch.float32) - 1, torch.tensor(kind)


class WingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 7, padding=3, padding_mode="circular")
        self.bn = nn.BatchNorm1d(16)
        self.conv2 = nn.Conv1d(16, 32, 7, padding=3, stride=2)
        self.fc = nn.Linear(32, 3)

    def forward(self, x):
        x = F.relu(self.bn(self.conv1(x)))
        x = F.relu(self.conv2(x))
        return self.fc(x.amax(dim=2))


def evaluate(model, x, y, batch_size=50):
    model.eval()
    outputs = []
    for xb in x.split(batch_size):
        outputs.append(model(xb))
    logits = torch.cat(outputs)
    model.train()
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


x_train, y_train = wings(900)
x_valid, y_valid = wings(600)
model = WingNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    for idx in torch.randperm(len(x_train)).split(30):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    valid_loss, valid_acc = evaluate(model, x_valid, y_valid)
    print(f"epoch {epoch}: valid loss {valid_loss:.4f} acc {valid_acc:.3f}")
