import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

torch.manual_seed(60)
CENTRES = torch.randn(6, 10)


class Belt(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        for _ in range(self.rows):
            kind = int(torch.randint(0, 6, ()))
            yield CENTRES[kind] + 0.8 * torch.randn(10), kind


model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 6))
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
x_test, y_test = next(iter(DataLoader(Belt(500), batch_size=500)))

for step, (x, y) in enumerate(DataLoader(Belt(6000), batch_size=30), start=1):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    decay = min(0.99, (1 + step) / (10 + step))
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters()):
            slow.lerp_(fast, 1 - decay)
    if step % 50 == 0:
        with torch.no_grad():
            acc = (average(x_test).argmax(1) == y_test).float().mean()
        print(f"step {step}: loss {loss.item():.3f} averaged model {acc:.3f}")
