import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(47)
d = load_digits()
x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=40, shuffle=True)


def accuracy(model):
    model.eval()
    with torch.no_grad():
        return (model(x[1400:]).argmax(1) == y[1400:]).float().mean().item()


model = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
average = AveragedModel(model)
swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=2)
for epoch in range(7):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    if epoch >= 3:
        average.update_parameters(model)
        swa_scheduler.step()
    print(f"epoch {epoch}: loss {loss.item():.3f} acc {accuracy(model):.3f}")
update_bn(loader, average)
print(f"average: acc {accuracy(average):.3f}")
