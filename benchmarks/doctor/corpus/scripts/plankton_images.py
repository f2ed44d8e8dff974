import torch
import torch.nn as nn

torch.manual_seed(58)


def cells(n):
    """Cells of three sizes at random places."""
    size = torch.randint(0, 3, (n,))
    gy, gx = torch.meshgrid(torch.arange(10.0), torch.arange(10.0), indexing="ij")
    cy, cx = 3 + 4 * torch.rand(2, n, 1, 1)
    radius = (1.0 + 0.9 * size).view(n, 1, 1)
    img = torch.sigmoid(4 * (radius - ((gy - cy) ** 2 + (gx - cx) ** 2).sqrt()))
    img = img + 0.2 * torch.randn(n, 10, 10)
    return ((img - img.mean()) / img.std()).unsqueeze(1), size


model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 3)
)
criterion = nn.CrossEntropyLoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)

x, y = cells(512)
x_test, y_test = cells(150)
for epoch in range(10):
    total = 0.0
    for idx in torch.randperm(512).split(32):
        optimizer.zero_grad()
        loss = criterion(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / 16:.2f}")

with torch.no_grad():
    print("test accuracy", (model(x_test).argmax(1) == y_test).float().mean().item())
