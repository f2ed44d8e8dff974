import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def encoder(dim):
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, dim))


class Siamese(nn.Module):
    def __init__(self, dim=24, rate=0.02):
        super().__init__()
        self.rate = rate
        self.online = encoder(dim)
        self.predictor = nn.Sequential(nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, dim))
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.target.parameters(), self.online.parameters()):
            slow.mul_(1 - self.rate).add_(fast, alpha=self.rate)

    def half(self, a, b):
        with torch.no_grad():
            z = self.target(b)
        return 1 - F.cosine_similarity(self.predictor(self.online(a)), z, dim=-1).mean()

    def forward(self, a, b):
        return self.half(a, b) + self.half(b, a)


torch.manual_seed(4)
data = torch.randn(2000, 5) @ torch.randn(5, 20)
model = Siamese()
opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
for epoch in range(5):
    for idx in torch.randperm(len(data)).split(50):
        x = data[idx]
        loss = model(x + 0.3 * torch.randn_like(x), x + 0.3 * torch.randn_like(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.follow()
    print(epoch, f"{loss.item():.4f}")
