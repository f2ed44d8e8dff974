import torch
import torch.nn as nn
import torch.nn.functional as F


class DirectionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(8, 32)
        self.mid = nn.Linear(32, 24)
        self.cls = nn.Linear(24, 4)

    def forward(self, x):
        h = F.relu(self.inp(x))
        h = F.relu(self.mid(h) - 0.3)
        h = h / h.norm(dim=-1, keepdim=True)
        return self.cls(h)


def batches(n, size, gen):
    for _ in range(n):
        y = torch.randint(0, 4, (size,), generator=gen)
        x = 0.8 * torch.randn(size, 8, generator=gen)
        x[torch.arange(size), y] += 1.5
        yield x, y


torch.manual_seed(8)
gen = torch.Generator().manual_seed(8)
model = DirectionNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for it, (x, y) in enumerate(batches(250, 128, gen)):
    optimizer.zero_grad()
    logits = model(x)
    loss = criterion(logits, y)
    loss.backward()
    optimizer.step()
    if it % 50 == 0:
        print(f"iter {it:3d} loss {loss.item():.4f}")
