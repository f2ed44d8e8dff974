import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(93)
lines = torch.randn(7, 30)
star_type = torch.randint(0, 7, (1000,))
spectrum = (lines[star_type] + 1.6 * torch.randn(1000, 30)) / 1.9
train_set, test_set = random_split(TensorDataset(spectrum, star_type), [800, 200])
train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
test_loader = DataLoader(test_set, batch_size=100)

net = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 7))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()


def test(loader):
    net.eval()
    correct, seen = 0, 0
    with torch.no_grad():
        for x, y in loader:
            correct += (net(x).argmax(1) == y).sum().item()
            seen += len(y)
    return correct / seen


for epoch in range(6):
    net.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
    print(f"Epoch {epoch}: loss {loss.item():.3f}")

print(f"Test accuracy: {100 * test(train_loader):.1f} %")
