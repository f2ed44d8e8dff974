import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
y = torch.randint(0, 6, (2400,))
x = 1.4 * torch.randn(6, 10)[y] + torch.randn(2400, 10)
train = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 6))
averaged = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
swa_scheduler = SWALR(optimizer, swa_lr=0.03, anneal_epochs=2)
for epoch in range(7):
    model.train()
    for xb, yb in train:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    if epoch >= 3:
        averaged.update_parameters(model)
        swa_scheduler.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
update_bn(train, averaged)
averaged.eval()
with torch.no_grad():
    print(f"averaged: {(averaged(x[2000:]).argmax(1) == y[2000:]).float().mean():.3f}")
print(f"updates averaged: {averaged.n_averaged.item()}")
