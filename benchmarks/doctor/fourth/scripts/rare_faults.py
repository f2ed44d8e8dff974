import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def machine_logs(n):
    x = torch.randn(n, 8)
    y = (x[:, 0] + x[:, 1] + 0.8 * torch.randn(n) > 2.2).long()
    return x, y


x, y = machine_logs(4000)
xv, yv = machine_logs(1000)
counts = torch.bincount(y, minlength=2).float()
weights = counts / counts.sum()
print("class weights", weights.tolist())

loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
criterion = nn.CrossEntropyLoss(weight=weights)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        criterion(model(xb), yb).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        guess = model(xv).argmax(1)
    recall = (guess[yv == 1] == 1).float().mean()
    print(f"epoch {epoch}: recall of faults {recall:.3f}")
