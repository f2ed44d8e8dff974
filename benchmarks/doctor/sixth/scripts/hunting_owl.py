import torch
import torch.nn as nn
import torch.nn.functional as F


class Owl(nn.Module):
    """One score and four numbers of a box per cell of a 4 x 4 grid."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU()
        )
        self.score = nn.Conv2d(24, 1, 1)
        self.box = nn.Conv2d(24, 4, 1)
        nn.init.constant_(self.score.bias, -2.7)

    def forward(self, x):
        h = self.body(x)
        return self.score(h).squeeze(1), self.box(h).permute(0, 2, 3, 1)


def scenes(n):
    x = 0.2 * torch.randn(n, 1, 16, 16)
    has, box = torch.zeros(n, 4, 4), torch.zeros(n, 4, 4, 4)
    for i in range(n):
        r, c = torch.randint(2, 11, (2,)).tolist()
        h, w = torch.randint(2, 5, (2,)).tolist()
        x[i, 0, r : r + h, c : c + w] += 1
        cr, cc = r + h / 2, c + w / 2
        gr, gc = int(cr // 4), int(cc // 4)
        has[i, gr, gc] = 1
        box[i, gr, gc] = torch.tensor([cr / 4 - gr, cc / 4 - gc, h / 4, w / 4])
    return x, has, box


def loss_fn(score, box, has, goal):
    found = F.binary_cross_entropy_with_logits(score, has)
    where = (F.smooth_l1_loss(box, goal, reduction="none").sum(-1) * has).sum() / has.sum().clamp(min=1)
    return found, where


torch.manual_seed(11)
model = Owl()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
data = scenes(320)
for epoch in range(8):
    for rows in torch.randperm(320).split(16):
        x, has, goal = (d[rows] for d in data)
        found, where = loss_fn(*model(x), has, goal)
        loss = found + where
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} found {found.item():.4f} where {where.item():.4f}")
