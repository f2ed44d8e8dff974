import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

ROWS = {
    0: "###/#.#/#.#/#.#/###", 1: ".#./##./.#./.#./###", 2: "###/..#/###/#../###", 3: "###/..#/.##/..#/###",
    4: "#.#/#.#/###/..#/..#", 5: "###/#../###/..#/###", 6: "###/#../###/#.#/###", 7: "###/..#/.#./.#./.#.",
}


def render(n):
    glyphs = torch.stack([torch.tensor([[float(c == "#") for c in r] for r in ROWS[d].split("/")]) for d in range(8)])
    y = torch.randint(0, 8, (n,))
    canvas = torch.zeros(n, 1, 8, 8)
    for i in range(n):
        r, c = torch.randint(0, 4, (1,)).item(), torch.randint(0, 6, (1,)).item()
        canvas[i, 0, r : r + 5, c : c + 3] = glyphs[y[i]]
    return (canvas - 0.15) / 0.36 + 0.2 * torch.randn_like(canvas), y


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(32 * 4, 8)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


torch.manual_seed(173)
train_loader = DataLoader(TensorDataset(*render(640)), batch_size=40, shuffle=True)
test_loader = DataLoader(TensorDataset(*render(160)), batch_size=80)
model = CNN()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_loader:
            correct += (model(x).argmax(1) == y).sum().item()
    print(f"Epoch {epoch}: loss {loss.item():.3f}, test accuracy {correct / 160:.2f}")
