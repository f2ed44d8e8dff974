"""Multi-horizon tide forecast."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
t = torch.linspace(0, 60, 1034)
series = torch.sin(t) + 0.3 * torch.cos(3.1 * t) + 0.02 * torch.randn(len(t))
windows = series.unfold(0, 12, 1)
x, y = windows[:, :9].contiguous(), windows[:, 9:].contiguous()
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)


class Tide(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(9, 48), nn.GELU())
        self.heads = nn.ModuleList(nn.Linear(48, 1) for _ in range(3))

    def forward(self, x):
        h = self.trunk(x)
        return [head(h).squeeze(1) for head in self.heads]


model = Tide()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
history = []
for epoch in range(4):
    total = torch.zeros(())
    for xb, yb in loader:
        loss = 0.0
        for k, pred in enumerate(model(xb)):
            loss += nn.functional.mse_loss(pred, yb[:, k])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(xb)
        history.append(loss.detach())
    print(epoch, f"{total.item() / len(x):.4f}")
print(torch.stack(history)[-5:].mean().item())
