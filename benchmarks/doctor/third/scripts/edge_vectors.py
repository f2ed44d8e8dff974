"""Message passing on point clouds with directions of edges."""
import torch
import torch.nn as nn

torch.manual_seed(333)
N = 12


class PointNet(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(4, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.out = nn.Linear(dim, 1)

    def forward(self, pos, edges):
        src, dst = edges
        diff = pos[:, dst] - pos[:, src]
        dist = diff.norm(dim=-1, keepdim=True)
        unit = diff / dist
        m = self.message(torch.cat([unit, dist], -1))
        h = torch.zeros(pos.size(0), N, m.size(-1)).index_add(1, dst, m)
        return self.out(h.mean(1)).squeeze(1)


ring = torch.arange(N)
edges = torch.stack([torch.cat([ring, ring]), torch.cat([ring, (ring + 1) % N])])
model = PointNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(50):
    pos = torch.randn(16, N, 3)
    y = (pos - pos.roll(-1, 1)).norm(dim=-1).mean(1)
    loss = nn.functional.mse_loss(model(pos, edges), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
