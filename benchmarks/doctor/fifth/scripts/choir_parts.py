import torch
from torch import nn

torch.manual_seed(48)


class Choir(nn.Module):
    """Predicts how the voices of a choir share the sound."""

    def __init__(self, n_in=10, parts=6):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_in, 48), nn.SiLU(), nn.Linear(48, parts))

    def forward(self, x):
        return torch.softmax(self.layers(x), dim=1)


def shares(n):
    gen = torch.Generator().manual_seed(n)
    x = torch.randn(n, 10, generator=gen)
    mix = torch.randn(10, 6, generator=torch.Generator().manual_seed(0))
    return x, torch.softmax(x @ mix, dim=1)


x, p = shares(1200)
xv, pv = shares(300)
model = Choir()
criterion = nn.KLDivLoss(reduction="batchmean")
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    model.train()
    for idx in torch.randperm(len(x)).split(40):
        q = model(x[idx])
        loss = criterion(q, p[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        gap = (model(xv) - pv).abs().sum(1).mean()
    print(f"epoch {epoch}: loss {loss.item():.4f} mean gap {gap:.4f}")
