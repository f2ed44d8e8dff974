import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.kind = nn.Linear(32, 4)
        self.size = nn.Linear(32, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.kind(h), self.size(h)


torch.manual_seed(0)
x = torch.randn(2400, 12)
kind = (x @ torch.randn(12, 4)).argmax(1)
size = torch.tanh(x @ torch.randn(12, 1))
model = MultiTask()
optimizers = [
    torch.optim.Adam([*model.trunk.parameters(), *model.kind.parameters()], lr=1e-3),
    torch.optim.SGD(model.size.parameters(), lr=0.05),
]
for epoch in range(5):
    for idx in torch.randperm(len(x)).split(40):
        a, b = model(x[idx])
        loss = F.cross_entropy(a, kind[idx]) + F.mse_loss(b, size[idx])
        for o in optimizers:
            o.zero_grad()
        loss.backward()
        for o in optimizers:
            o.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
