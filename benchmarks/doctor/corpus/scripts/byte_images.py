import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    """Camera frames as bytes, the way they come from disk."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.label = torch.randint(0, 3, (n,), generator=g)
        img = torch.randint(40, 160, (n, 1, 12, 12), generator=g)
        for i, k in enumerate(self.label.tolist()):
            img[i, 0, :, 4 * k : 4 * k + 4] += 60
        self.img = img.to(torch.uint8)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.img[i], self.label[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor(120.0))
        self.register_buffer("std", torch.tensor(45.0))
        self.conv = nn.Conv2d(1, 8, 5, stride=2)
        self.fc = nn.Linear(8 * 16, 3)

    def forward(self, x):
        x = (x.float() - self.mean) / self.std
        return self.fc(F.relu(self.conv(x)).flatten(1))


torch.manual_seed(151)
train = DataLoader(Frames(360, 0), batch_size=30, shuffle=True)
test = DataLoader(Frames(120, 1), batch_size=60)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(4):
    for img, label in train:
        loss = F.cross_entropy(net(img), label)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        hits = sum((net(img).argmax(1) == label).sum().item() for img, label in test)
    print(f"epoch {epoch}: loss {loss.item():.3f} accuracy {hits / 120:.3f}")
