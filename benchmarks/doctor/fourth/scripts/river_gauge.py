import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Gauges(Dataset):
    """Several sensors per station; not every sensor reports every day."""

    def __init__(self, n=1500, sensors=6):
        g = torch.Generator().manual_seed(5)
        self.level = torch.randn(n, 1, generator=g)
        self.values = self.level + 0.3 * torch.randn(n, sensors, generator=g)
        self.seen = (torch.rand(n, sensors, generator=g) < 0.45).float()

    def __len__(self):
        return len(self.level)

    def __getitem__(self, i):
        return self.values[i] * self.seen[i], self.seen[i], self.level[i]


class Station(nn.Module):
    def __init__(self, sensors=6, width=32):
        super().__init__()
        self.lift = nn.Linear(1, width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def pool(self, h, seen):
        return (h * seen.unsqueeze(-1)).sum(1) / seen.sum(1, keepdim=True)

    def forward(self, values, seen):
        h = torch.relu(self.lift(values.unsqueeze(-1)))
        return self.head(self.pool(h, seen))


torch.manual_seed(0)
loader = DataLoader(Gauges(), batch_size=64, shuffle=True)
model = Station()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    total = 0.0
    for values, seen, level in loader:
        loss = nn.functional.mse_loss(model(values, seen), level)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"{epoch}: {total / len(loader):.4f}")
