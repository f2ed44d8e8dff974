import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.kind = nn.Linear(32, 4)
        self.size = nn.Linear(32, 1)

    def forward(self, x):
        h = self.encoder(x)
        return self.kind(h), self.size(h)


x = torch.randn(2400, 12)
kind = (x @ torch.randn(12, 4)).argmax(1)
size = torch.tanh(x @ torch.randn(12, 1))

model = MultiTask()
opt_kind = torch.optim.Adam([*model.encoder.parameters(), *model.kind.parameters()], lr=1e-3)
opt_size = torch.optim.Adam([*model.encoder.parameters(), *model.size.parameters()], lr=1e-3)

for epoch in range(5):
    for idx in torch.randperm(len(x)).split(40):
        a, b = model(x[idx])
        loss = F.cross_entropy(a, kind[idx]) + F.mse_loss(b, size[idx])
        opt_kind.zero_grad()
        opt_size.zero_grad()
        loss.backward()
        opt_kind.step()
        opt_size.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
