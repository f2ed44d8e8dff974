"""Sort leaves by shape; cosine schedule in steps."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(104)
protos = torch.randn(4, 1, 10, 10)
y = torch.randint(0, 4, (640,))
x = protos[y] + torch.randn(640, 1, 10, 10)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
epochs = 5

model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader), eta_min=1e-4)

for epoch in range(epochs):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        scheduler.step()
    model.eval()
    with torch.no_grad():
        fresh = protos[y] + torch.randn_like(x)
        accuracy = (model(fresh).argmax(1) == y).float().mean().item()
    print(f"epoch {epoch} accuracy {accuracy:.3f} loss {loss.item():.4f} lr {optimizer.param_groups[0]['lr']:.5f}")
