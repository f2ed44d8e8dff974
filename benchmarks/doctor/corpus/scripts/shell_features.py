"""Frames -> conv features -> LSTM: which way does the dot move?"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class VideoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv1d(8, 4, 3, padding=1), nn.ReLU(), nn.Flatten()
        )
        self.lstm = nn.LSTM(4 * 10, 24, batch_first=True)
        self.head = nn.Linear(24, 2)

    def forward(self, clip):  # (B, T, 10)
        b, t, w = clip.shape
        f = self.features(clip.reshape(b * t, 1, w)).data
        h, _ = self.lstm(f.view(b, t, -1))
        return self.head(h[:, -1])


def clips(n, t=6, w=10):
    way = torch.randint(0, 2, (n,))
    start = torch.randint(0, w, (n, 1))
    pos = (start + (2 * way[:, None] - 1) * torch.arange(t)) % w
    frames = torch.nn.functional.one_hot(pos, w).float()
    return (frames - 0.1) / 0.3 + 0.3 * torch.randn(n, t, w), way


torch.manual_seed(29)
train = DataLoader(TensorDataset(*clips(400)), batch_size=40, shuffle=True)
test_x, test_y = clips(200)
net = VideoNet()
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(6):
    total = 0
    for x, y in train:
        loss = ce(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch", epoch, "loss", round(total / len(train), 3))
with torch.no_grad():
    print("test accuracy", (net(test_x).argmax(1) == test_y).float().mean().item())
