import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(132)
means = torch.randn(4, 12)
y = torch.randint(0, 4, (640,))
x = (means[y] + 1.1 * torch.randn(640, 12)) / 1.5
loader = DataLoader(TensorDataset(x[:480], y[:480]), batch_size=40, shuffle=True)

model = nn.Sequential(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 4))
swa_model = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
swa_scheduler = SWALR(optimizer, swa_lr=0.02, anneal_epochs=2)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(10):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch >= 5:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    print(f"epoch {epoch}: {total / len(loader):.3f}")

update_bn(loader, swa_model)
swa_model.eval()
with torch.no_grad():
    print("accuracy of the average", (swa_model(x[480:]).argmax(1) == y[480:]).float().mean().item())
