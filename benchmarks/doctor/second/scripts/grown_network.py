import torch
import torch.nn as nn
import torch.nn.functional as F


class Growing(nn.Module):
    def __init__(self, inputs, classes, width=40):
        super().__init__()
        self.width = width
        self.stem = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList()
        self.head = nn.Linear(width, classes)

    def grow(self):
        block = nn.Sequential(nn.LayerNorm(self.width), nn.Linear(self.width, self.width), nn.ReLU(),
                              nn.Linear(self.width, self.width))
        nn.init.zeros_(block[-1].weight)
        nn.init.zeros_(block[-1].bias)
        self.blocks.append(block)
        return block

    def forward(self, x):
        h = F.relu(self.stem(x))
        for block in self.blocks:
            h = h + block(h)
        return self.head(h)


def ores(n):
    x = torch.randn(n, 6)
    y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] + x[:, 3].abs() > 0.8).long()
    return x, y


torch.manual_seed(48)
x, y = ores(1200)
xt, yt = ores(300)
model = Growing(6, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(12):
    if epoch in (3, 6):
        optimizer.add_param_group({"params": model.grow().parameters()})
        print(f"grown to {len(model.blocks)} blocks")
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(60):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        acc = (model(xt).argmax(1) == yt).float().mean()
    print(f"epoch {epoch}: loss {total / len(x):.3f} accuracy {acc:.3f}")
