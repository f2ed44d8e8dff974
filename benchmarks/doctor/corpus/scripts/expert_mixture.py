import torch
import torch.nn as nn
import torch.nn.functional as F


class Experts(nn.Module):
    def __init__(self, dim=6, experts=4, hidden=32):
        super().__init__()
        self.router = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, 1)) for _ in range(experts)
        )

    def forward(self, x):
        gate = self.router(x).softmax(1)
        weight, choice = gate.max(1)
        out = x.new_zeros(len(x), 1)
        for k, expert in enumerate(self.experts):
            rows = (choice == k).nonzero().flatten()
            if len(rows):
                out = out.index_add(0, rows, expert(x[rows]) * weight[rows, None])
        return out, gate.mean(0)


def pieces(n):
    """a different function in each half space"""
    x = torch.randn(n, 6)
    return x, torch.where(x[:, :1] > 0, x[:, 1:2] + x[:, 2:3], torch.sin(2 * x[:, 3:4]))


torch.manual_seed(184)
model = Experts()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(250):
    x, y = pieces(128)
    pred, load = model(x)
    loss = F.mse_loss(pred, y) + 0.01 * (load * load).sum() * len(load)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3d} loss {loss.item():.3f} load {[round(v, 2) for v in load.tolist()]}")
x, y = pieces(1000)
with torch.no_grad():
    print("test mse", F.mse_loss(model(x)[0], y).item())
