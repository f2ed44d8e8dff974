"""Two voyages: learn five ports first, then three others with the same body."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Sailor(nn.Module):
    def __init__(self, ports):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.head = nn.Linear(32, ports)

    def forward(self, x):
        return self.head(self.body(x))


def voyage(n, ports, seed):
    centres = torch.randn(ports, 12, generator=torch.Generator().manual_seed(seed))
    y = torch.randint(0, ports, (n,))
    return centres[y] + 0.7 * torch.randn(n, 12), y


def sail(model, optimizer, data, epochs):
    x, y = data
    for epoch in range(epochs):
        for rows in torch.randperm(len(x)).split(25):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            accuracy = (model(x).argmax(1) == y).float().mean().item()
        print(f"  epoch {epoch} loss {loss.item():.4f} train accuracy {accuracy:.3f}")


torch.manual_seed(42)
model = Sailor(5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
print("first voyage")
sail(model, optimizer, voyage(500, 5, 1), 5)

model.head = nn.Linear(32, 8)
print("second voyage")
sail(model, optimizer, voyage(500, 8, 2), 5)
