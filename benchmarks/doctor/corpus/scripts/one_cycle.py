import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(128)
kernels = torch.randn(5, 1, 4, 4)
y = torch.randint(0, 5, (600,))
x = torch.randn(600, 1, 10, 10)
for i in range(600):
    r, c = torch.randint(0, 6, (2,)).tolist()
    x[i, :, r : r + 4, c : c + 4] += 1.8 * kernels[y[i]]
x = (x - x.mean()) / x.std()

train_loader = DataLoader(TensorDataset(x[:480], y[:480]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(x[480:], y[480:]), batch_size=120)
model = nn.Sequential(
    nn.Conv2d(1, 16, 4), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(64, 5)
)
epochs = 10
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scheduler = OneCycleLR(optimizer, max_lr=0.2, epochs=epochs, steps_per_epoch=len(train_loader))
criterion = nn.CrossEntropyLoss()


def validate():
    model.eval()
    with torch.no_grad():
        hits = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in val_loader)
    model.train()
    return hits / 120


for epoch in range(epochs):
    for xb, yb in train_loader:
        loss = criterion(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(f"epoch {epoch} lr {optimizer.param_groups[0]['lr']:.4f} loss {loss.item():.3f} val {validate():.2f}")
