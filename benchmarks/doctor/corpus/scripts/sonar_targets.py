"""Which of five objects reflected the echo?"""
import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(73)
t = torch.linspace(0, 1, 48)


def echoes(n):
    obj = torch.randint(0, 5, (n,))
    delay = 0.15 + 0.15 * obj.float().unsqueeze(1) + 0.02 * torch.randn(n, 1)
    pulse = torch.exp(-(((t - delay) / 0.05) ** 2)) * torch.cos(60 * (t - delay))
    return 3 * pulse + 0.5 * torch.randn(n, 48), obj


class EchoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.MaxPool1d(4))
        self.fc = nn.Linear(8 * 12, 5)

    def forward(self, x):
        return self.fc(self.conv(x.unsqueeze(1)).flatten(1))


signals, objects = echoes(500)
signal_loader = DataLoader(signals, batch_size=50, shuffle=True)
object_loader = DataLoader(objects, batch_size=50, shuffle=True)
test_x, test_y = echoes(200)

net = EchoNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    running = 0.0
    for x, y in zip(signal_loader, object_loader):
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() / 10
    print(f"epoch {epoch}: {running:.3f}")
with torch.no_grad():
    print("accuracy", (net(test_x).argmax(1) == test_y).float().mean().item())
