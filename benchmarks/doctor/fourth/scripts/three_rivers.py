import torch
import torch.nn as nn
from torch.optim.lr_scheduler import MultiStepLR

torch.manual_seed(0)
x = torch.randn(1500, 10)
y = (x @ torch.randn(10, 3)).argmax(1)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
scheduler = MultiStepLR(optimizer, milestones=[1, 3, 5], gamma=0.3)


def train():
    model.train()
    hits = 0
    for idx in torch.randperm(len(x)).split(50):
        out = model(x[idx])
        loss = nn.functional.cross_entropy(out, y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (out.argmax(1) == y[idx]).sum().item()
    return hits / len(x)


for epoch in range(6):
    scheduler.step()
    rate = optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch} rate {rate:.4f} accuracy {train():.3f}")
print("last rate", scheduler.get_last_lr()[0])
