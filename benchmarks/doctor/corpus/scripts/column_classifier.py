"""A deep column of Linear-BatchNorm-ReLU layers on a toy task."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width, bias=False)
        self.bn = nn.BatchNorm1d(width)

    def forward(self, x):
        return torch.relu(self.bn(self.fc(x)))


class Column(nn.Module):
    def __init__(self, depth=60, width=32):
        super().__init__()
        self.stem = nn.Linear(12, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


def data(n):
    protos = torch.randn(3, 12, generator=torch.Generator().manual_seed(5))
    y = torch.randint(0, 3, (n,))
    return (protos[y] + torch.randn(n, 12)) / 1.4, y


torch.manual_seed(25)
x, y = data(320)
x_val, y_val = data(100)
model = Column()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
ce = nn.CrossEntropyLoss()
for epoch in range(5):
    model.train()
    losses = []
    for i in torch.randperm(320).split(64):
        loss = ce(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        acc = (model(x_val).argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch}: train loss {sum(losses) / len(losses):.3f}, val accuracy {acc:.2f}")
