import torch
from torch import nn

torch.manual_seed(0)

# three noisy clusters in the plane
centers = torch.tensor([[1.2, 0.0], [-0.8, 1.0], [-0.4, -1.1]])
labels = torch.randint(0, 3, (600,))
points = centers[labels] + 0.5 * torch.randn(600, 2)
train_x, train_y = points[:450], labels[:450]
test_x, test_y = points[450:], labels[450:]

net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

for epoch in range(8):
    order = torch.randperm(len(train_x))
    running = 0.0
    for i in range(0, len(order), 30):
        idx = order[i : i + 30]
        loss = criterion(net(train_x[idx]), train_y[idx])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    print(f"epoch {epoch}: loss {running / len(train_x):.3f}")

with torch.no_grad():
    acc = (net(test_x).argmax(1) == test_y).float().mean()
print(f"test accuracy {acc:.2f}")
