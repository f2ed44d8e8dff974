import torch
import torch.nn as nn


class Cleaner(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(1, 12, 7, padding=3), nn.ReLU())
        self.dec = nn.Conv1d(12, 1, 7, padding=3)

    def forward(self, x):
        return self.dec(self.enc(x))


def clean(n):
    t = torch.linspace(0, 1, 48)
    return torch.sin(6.28 * (1 + 3 * torch.rand(n, 1, 1)) * t + 6.28 * torch.rand(n, 1, 1))


def corrupt(x, sigma=0.4):
    return x + sigma * torch.randn_like(x)


torch.manual_seed(10)
model = Cleaner()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
train, val = clean(512), clean(128)
noisy_val = corrupt(val)
for epoch in range(10):
    model.train()
    for rows in torch.randperm(512).split(32):
        x = train[rows]
        loss = nn.functional.mse_loss(model(corrupt(x)), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, loss.item(), nn.functional.mse_loss(model(noisy_val), val).item())
