import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def bands(n, seed):
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(0, 3, (n,), generator=g)
    image = 0.8 * torch.rand(n, 16, 16, 3, generator=g)
    for i, c in enumerate(label.tolist()):
        row = int(torch.randint(2, 12, (1,), generator=g))
        image[i, row : row + 3, :, c] += 0.4
    return TensorDataset(image.permute(0, 3, 1, 2).contiguous(), label)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Linear(24 * 16, 3)

    def forward(self, x):
        x = self.features(x - 0.4)
        return self.fc(x.view(x.size(0), -1))


torch.manual_seed(0)
train = DataLoader(bands(1000, 1), batch_size=25, shuffle=True)
test = DataLoader(bands(300, 2), batch_size=100)
model = ConvNet()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    model.train()
    for x, y in train:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in test:
            right += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch}: {right / 300:.3f}")
