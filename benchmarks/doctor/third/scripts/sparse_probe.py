"""Sparse linear probe with an L1 penalty."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(151)
x = torch.randn(600, 50)
true = torch.zeros(50)
true[:5] = torch.tensor([2.0, -1.5, 1.0, 3.0, -2.0])
y = (x @ true + 0.5 * torch.randn(600) > 0).float()
loader = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True)

model = nn.Linear(50, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.BCEWithLogitsLoss()
l1 = 0.05


def penalty(model):
    return sum(p.data.abs().sum() for p in model.parameters())


for epoch in range(6):
    for xb, yb in loader:
        optimizer.zero_grad()
        fit = criterion(model(xb).squeeze(1), yb)
        loss = fit + l1 * penalty(model)
        loss.backward()
        optimizer.step()
    small = (model.weight.detach().abs() < 0.02).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} near zero {small}")
