import torch
import torch.nn as nn
import torch.nn.functional as F


class Duration(nn.Module):
    """Embeds the hour and combines it with the distance."""

    def __init__(self):
        super().__init__()
        self.hour = nn.Embedding(24, 6)
        self.net = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, hour, km):
        return self.net(torch.cat([self.hour(hour), km], dim=1)).squeeze()


def trips(n):
    hour = torch.randint(0, 24, (n,))
    km = torch.randn(n, 1)
    rush = torch.where((hour > 6) & (hour < 10) | (hour > 15) & (hour < 19), 0.8, -0.4)
    return hour, km, 0.7 * km + rush[:, None] * (1 + 0.3 * km) + 0.05 * torch.randn(n, 1)


class Trainer:
    def __init__(self, model, data, batch_size=50):
        self.model, self.data, self.batch_size = model, data, batch_size
        self.optim = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(self, idx):
        hour, km, minutes = (t[idx] for t in self.data)
        return F.l1_loss(self.model(hour, km), minutes)

    def epoch(self):
        losses = []
        for idx in torch.randperm(len(self.data[0])).split(self.batch_size):
            loss = self.loss(idx)
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)


torch.manual_seed(57)
trainer = Trainer(Duration(), trips(600))
for e in range(8):
    print(f"epoch {e}: mae {trainer.epoch():.3f}")
hour, km, minutes = trips(200)
with torch.no_grad():
    print("new trips:", (trainer.model(hour, km).view(-1) - minutes.view(-1)).abs().mean().item())
