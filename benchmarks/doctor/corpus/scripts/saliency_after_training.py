"""Train a classifier, then ask which inputs matter."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(159)
x = torch.randn(700, 10)
y = (1.5 * x[:, 2] - x[:, 7] + 0.2 * torch.randn(700) > 0).long()
train = DataLoader(TensorDataset(x[:560], y[:560]), batch_size=40, shuffle=True)

model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    for xb, yb in train:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.3f}")

model.eval()
with torch.no_grad():
    print("test accuracy", (model(x[560:]).argmax(1) == y[560:]).float().mean().item())

probe = x[560:].clone().requires_grad_(True)
score = model(probe).gather(1, y[560:, None]).sum()
score.backward()
importance = probe.grad.abs().mean(0)
print("most important features:", importance.topk(2).indices.tolist())
