"""Bags of different size: find the largest marked value."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class AttentionPool(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width))
        self.score = nn.Linear(width, 1)
        self.out = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, items, mask):
        h = self.embed(items)
        logits = self.score(h).squeeze(-1).masked_fill(~mask, float("-inf"))
        weights = logits.softmax(1).unsqueeze(-1)
        return self.out((weights * h).sum(1)).squeeze(1)


def bags(n, largest=8):
    size = torch.randint(2, largest + 1, (n, 1))
    mask = torch.arange(largest) < size
    value, mark = torch.randn(n, largest), torch.zeros(n, largest)
    chosen = (torch.rand(n, 1) * size).long()
    mark.scatter_(1, chosen, 1.0)
    items = torch.stack([value, 2 * mark - 0.5], -1) * mask.unsqueeze(-1)
    return items, mask, value.gather(1, chosen).squeeze(1)


torch.manual_seed(190)
net = AttentionPool()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(250):
    items, mask, target = bags(64)
    loss = F.mse_loss(net(items, mask), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3d} mse {loss.item():.4f}")
items, mask, target = bags(500)
with torch.no_grad():
    print("test mse", F.mse_loss(net(items, mask), target).item())
