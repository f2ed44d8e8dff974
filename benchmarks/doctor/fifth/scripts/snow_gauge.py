import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(7)
torch.manual_seed(7)


class SnowNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 24, batch_first=True)
        self.linear = nn.Linear(24, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.linear(out[:, -1])


def series(n, steps=15):
    phase = rng.uniform(0, 2 * np.pi, (n, 1))
    speed = rng.uniform(0.2, 0.6, (n, 1))
    wave = np.sin(phase + speed * np.arange(steps + 1))
    wave = torch.tensor(wave, dtype=torch.float32)
    return wave[:, :-1, None], wave[:, -1:]


x, y = series(1200)
x_val, y_val = series(300)
model = SnowNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.3)
loss_fn = nn.MSELoss()

for epoch in range(8):
    model.train()
    for idx in torch.randperm(len(x)).split(40):
        optimizer.zero_grad()
        loss = loss_fn(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        scheduler.step()
    model.eval()
    with torch.no_grad():
        val = loss_fn(model(x_val), y_val).item()
    print(f"epoch {epoch}: train {loss.item():.4f} val {val:.4f}")
