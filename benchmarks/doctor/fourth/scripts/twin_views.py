import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Byol(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, dim))
        self.predictor = nn.Sequential(nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, dim))
        self.target = copy.deepcopy(self.online)

    @torch.no_grad()
    def move(self, rate=0.01):
        for slow, fast in zip(self.target.parameters(), self.online.parameters()):
            slow.data.lerp_(fast.data, rate)

    def forward(self, a, b):
        p = self.predictor(self.online(a))
        z = self.target(b)
        return 2 - 2 * F.cosine_similarity(p, z, dim=-1).mean()


def augment(x):
    return x + 0.3 * torch.randn_like(x)


torch.manual_seed(2)
basis = torch.randn(5, 20)
data = torch.randn(2000, 5) @ basis
model = Byol()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    for idx in torch.randperm(len(data)).split(64):
        x = data[idx]
        loss = (model(augment(x), augment(x)) + model(augment(x), augment(x))) / 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.move()
    with torch.no_grad():
        spread = F.normalize(model.online(data), dim=1).std(0).mean()
    print(f"epoch {epoch} loss {loss.item():.4f} spread {spread:.3f}")
