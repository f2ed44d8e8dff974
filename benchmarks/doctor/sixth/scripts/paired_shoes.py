import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 24))
        self.g = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 12))

    def forward(self, x):
        h = self.f(x)
        return h, F.normalize(self.g(h), dim=1)


def nt_xent(a, b, temperature=0.3):
    z = torch.cat([a, b])
    similarity = z @ z.t() / temperature
    similarity.fill_diagonal_(float("-inf"))
    n = len(a)
    partner = torch.cat([torch.arange(n) + n, torch.arange(n)])
    return F.cross_entropy(similarity, partner)


def shoes(n, centres):
    y = torch.randint(0, len(centres), (n,))
    return centres[y] + 0.3 * torch.randn(n, 24), y


def augment(x):
    return x * (torch.rand_like(x) > 0.2) + 0.1 * torch.randn_like(x)


torch.manual_seed(0)
centres = torch.randn(6, 24)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(250):
    x, _ = shoes(32, centres)
    _, a = model(augment(x))
    _, b = model(augment(x))
    loss = nt_xent(a, b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print("contrastive", step, loss.item())

# linear probe on the frozen representation
x, y = shoes(300, centres)
x_test, y_test = shoes(100, centres)
with torch.no_grad():
    h, h_test = model(x)[0], model(x_test)[0]
probe = nn.Linear(24, 6)
optimizer = torch.optim.Adam(probe.parameters(), lr=2e-2)
for _ in range(80):
    loss = F.cross_entropy(probe(h), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print("probe", loss.item(), (probe(h_test).argmax(1) == y_test).float().mean().item())
