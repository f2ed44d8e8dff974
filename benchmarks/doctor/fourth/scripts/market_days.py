import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Market(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(14, 64), nn.Linear(64, 6)

    def forward(self, x):
        return self.l2(F.relu(self.l1(x)))


torch.manual_seed(0)
x = torch.randn(3000, 14)
y = (x @ torch.randn(14, 6)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True)
model = Market()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
for epoch in range(6):
    total = 0.0
    for xb, yb in loader:
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.4f}, lr {optimizer.param_groups[0]['lr']:.2e}")
