"""Segment bright cells on a dark slide with a Dice loss."""
import torch
import torch.nn as nn


def slides(n):
    r = torch.arange(16.0)
    cy, cx = 4 + 8 * torch.rand(2, n, 1, 1)
    half = 2 + 3 * torch.rand(n, 1, 1)
    mask = (((r[:, None] - cy).abs() < half) & ((r - cx).abs() < half)).float()
    image = 1.8 * mask + 0.8 * torch.randn(n, 16, 16)
    return ((image - 0.35) / 1.05).unsqueeze(1), mask.unsqueeze(1)


def dice_loss(logits, mask, eps=1.0):
    pred = torch.round(torch.sigmoid(logits))
    inter = (pred * mask).sum(dim=(1, 2, 3))
    size = pred.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3))
    return (1 - (2 * inter + eps) / (size + eps)).mean()


def make_net():
    return nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(),
        nn.Conv2d(12, 12, 3, padding=2, dilation=2), nn.ReLU(),
        nn.Conv2d(12, 1, 1),
    )


if __name__ == "__main__":
    torch.manual_seed(2119)
    net = make_net()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    image, mask = slides(320)
    for epoch in range(5):
        net.train()
        total = 0.0
        for idx in torch.randperm(320).split(20):
            loss = dice_loss(net(image[idx]), mask[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() / 16
        print(f"epoch {epoch} dice loss {total:.4f}")
    net.eval()
    image, mask = slides(80)
    with torch.no_grad():
        print("test dice", 1 - dice_loss(net(image), mask).item())
