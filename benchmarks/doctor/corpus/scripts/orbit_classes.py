import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(103)
families = torch.randn(6, 5) * 1.2


def observe(n):
    """Noisy orbital elements of n asteroids of six families."""
    label = torch.randint(0, 6, (n,))
    return (families[label] + 0.5 * torch.randn(n, 5)) / 1.3, label


orbit, label = observe(900)

train_dl = DataLoader(TensorDataset(orbit[:700], label[:700]), batch_size=35, shuffle=True)
net = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 6))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
ce = nn.CrossEntropyLoss()

for epoch in range(6):
    total = 0.0
    for x, y in train_dl:
        net.zero_grad()
        loss = ce(net(x), y)
        loss.backward()
        opt.step()
        total += loss.item()
    print("epoch %d: %.4f" % (epoch, total / len(train_dl)))
with torch.no_grad():
    print("accuracy %.3f" % (net(orbit[700:]).argmax(1) == label[700:]).float().mean().item())
