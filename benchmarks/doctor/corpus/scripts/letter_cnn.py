import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(50)
GLYPHS = ["#####..#....#....#..", "#...##...######...##", "####.#...#####.#....", ".###.#....#.....####", "#....#....#....#####"]
bitmaps = torch.tensor([[float(c == "#") for c in g] for g in GLYPHS]).view(5, 1, 4, 5)


def letters(n):
    y = torch.randint(0, 5, (n,))
    big = nn.functional.interpolate(bitmaps[y], scale_factor=2)
    return (big - 0.5) * 2 + 0.9 * torch.randn(n, 1, 8, 10), y


net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(16 * 4, 5),
    nn.Softmax(dim=1),
)
train_loader = DataLoader(TensorDataset(*letters(500)), batch_size=50, shuffle=True)
test_loader = DataLoader(TensorDataset(*letters(200)), batch_size=100)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

for epoch in range(6):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        right = sum((net(x).argmax(1) == y).sum().item() for x, y in test_loader)
    print(f"epoch {epoch}: loss {loss.item():.3f}, test {right / 200:.2f}")
