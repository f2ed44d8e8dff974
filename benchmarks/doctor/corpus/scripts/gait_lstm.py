import torch
from torch import nn

torch.manual_seed(84)


class GaitLSTM(nn.Module):
    def __init__(self, channels=3, hidden=32, styles=3):
        super().__init__()
        self.lstm = nn.LSTM(channels, hidden)
        self.fc = nn.Linear(hidden, styles)

    def forward(self, x):
        batch, steps, channels = x.shape
        x = x.reshape(steps, batch, channels)
        out, _ = self.lstm(x)
        return self.fc(out[-1])


def walks(n, steps=20):
    style = torch.randint(0, 3, (n,))
    freq = torch.tensor([0.4, 0.7, 1.1])[style].view(n, 1, 1)
    phase = 6.28 * torch.rand(n, 1, 3)
    t = torch.arange(steps).float().view(1, steps, 1)
    return 1.4 * torch.sin(freq * t + phase) + 0.2 * torch.randn(n, steps, 3), style


model = GaitLSTM()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.CrossEntropyLoss()
x, y = walks(480)
xv, yv = walks(160)
for epoch in range(8):
    total = 0.0
    for idx in torch.randperm(480).split(32):
        loss = loss_fn(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 15
    with torch.no_grad():
        acc = (model(xv).argmax(1) == yv).float().mean()
    print(f"epoch {epoch}: {total:.3f} {acc:.3f}")
