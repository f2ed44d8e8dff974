import torch
from sklearn.datasets import make_moons
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(22)
x, y = make_moons(n_samples=560, noise=0.15, random_state=22)
x = torch.tensor(x, dtype=torch.float32)
y = torch.tensor(y)
loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
xv, yv = make_moons(n_samples=300, noise=0.15, random_state=23)
xv, yv = torch.tensor(xv, dtype=torch.float32), torch.tensor(yv)

net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
accumulate = 4

for epoch in range(25):
    net.train()
    optimizer.zero_grad()
    running = 0.0
    for i, (xb, yb) in enumerate(loader):
        loss = criterion(net(xb), yb)
        (loss / accumulate).backward()
        running += loss.item()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
    if epoch % 5 == 4:
        net.eval()
        with torch.no_grad():
            acc = (net(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch + 1}: loss {running / len(loader):.3f} acc {acc:.3f}")
