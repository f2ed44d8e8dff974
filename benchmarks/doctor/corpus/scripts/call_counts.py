import torch
from torch import nn, optim

torch.manual_seed(185)


def tickets(n):
    weekday = torch.randint(0, 7, (n,))
    load = torch.randn(n, 2)
    rate = torch.exp(1.2 + 0.5 * load[:, 0] - 0.8 * (weekday >= 5).float())
    return weekday, load, torch.poisson(rate)


class Arrivals(nn.Module):
    def __init__(self):
        super().__init__()
        self.day = nn.Embedding(7, 4)
        self.net = nn.Sequential(nn.Linear(6, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, weekday, load):
        return self.net(torch.cat([self.day(weekday), load], 1)).squeeze(1)  # log rate


model = Arrivals()
criterion = nn.PoissonNLLLoss(log_input=True)
optimizer = optim.Adam(model.parameters(), lr=1e-2)
day, load, count = tickets(900)
for epoch in range(8):
    total = 0.0
    for i in torch.randperm(700).split(50):
        loss = criterion(model(day[i], load[i]), count[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 14
    with torch.no_grad():
        val = criterion(model(day[700:], load[700:]), count[700:]).item()
    print(f"epoch {epoch}: train {total:.3f} validation {val:.3f}")
