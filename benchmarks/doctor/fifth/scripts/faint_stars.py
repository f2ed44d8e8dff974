import torch
from torch import nn

torch.manual_seed(41)


def focal(logits, target, gamma=2.0, alpha=0.75):
    bce = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    p = torch.sigmoid(logits)
    right = p * target + (1 - p) * (1 - target)
    weight = alpha * target + (1 - alpha) * (1 - target)
    return (weight * (1 - right) ** gamma * bce).mean()


def sky(n, size=16):
    image = 0.3 * torch.randn(n, 1, size, size)
    stars = torch.zeros(n, 1, size, size)
    for i in range(n):
        for _ in range(3):
            r, c = torch.randint(1, size - 1, (2,)).tolist()
            stars[i, 0, r, c] = 1
            image[i, 0, r - 1 : r + 2, c - 1 : c + 2] += 0.6
            image[i, 0, r, c] += 0.9
    return image, stars


net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
x, y = sky(400)
xv, yv = sky(100)
for epoch in range(6):
    net.train()
    for idx in torch.randperm(len(x)).split(20):
        opt.zero_grad()
        loss = focal(net(x[idx]), y[idx])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        guess = net(xv) > 0
    hit = (guess & yv.bool()).sum() / yv.sum()
    sure = (guess & yv.bool()).sum() / guess.sum().clamp(min=1)
    print(f"epoch {epoch}: loss {loss.item():.5f} recall {hit:.3f} precision {sure:.3f}")
