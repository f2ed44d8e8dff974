import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def focal_loss(logits, target, gamma=2.0):
    bce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    p_t = torch.exp(-bce)
    return ((1 - p_t) ** gamma * bce).mean()


def patients(n):
    y = (torch.rand(n) < 0.08).float()
    x = torch.randn(n, 8)
    x[:, :3] += 1.5 * y.unsqueeze(1)
    return x, y


torch.manual_seed(135)
x, y = patients(1200)
weights = torch.where(y == 1, 4.0, 1.0)
sampler = WeightedRandomSampler(weights.tolist(), num_samples=len(y), replacement=True)
loader = DataLoader(TensorDataset(x, y), batch_size=60, sampler=sampler)

model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = focal_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: focal loss {total / len(loader):.4f}")

x, y = patients(1000)
with torch.no_grad():
    found = model(x) > 0
print("recall", found[y == 1].float().mean().item(), "false alarms", found[y == 0].float().mean().item())
