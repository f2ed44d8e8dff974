"""Segment blobs with cross entropy and Dice."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(343)
IGNORE = 255


def scenes(n=16, size=16):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    c = torch.randint(4, 12, (n, 2, 1, 1))
    mask = ((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2 < 14).long()
    img = mask.float().unsqueeze(1) + 0.4 * torch.randn(n, 1, size, size)
    mask[:, 0] = IGNORE
    return img, mask


def dice(logits, target):
    keep = target != IGNORE
    probs = logits.softmax(dim=1)[:, 1] * keep
    truth = (target == 1).float()
    inter = (probs * truth).sum(dim=(1, 2))
    return 1 - ((2 * inter + 1) / (probs.sum(dim=(1, 2)) + truth.sum(dim=(1, 2)) + 1)).mean()


model = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(),
    nn.Conv2d(12, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 2, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    model.train()
    img, mask = scenes()
    logits = model(img)
    loss = F.cross_entropy(logits, mask, ignore_index=IGNORE) + dice(logits, mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(step, f"{loss.item():.4f}")
