import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)


def scenes(n, size=16):
    """a tilted plane with one raised box; returns image, depth and box outline"""
    g = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    cx, cy = (torch.rand(2, n, 1, 1) - 0.5) * 1.1
    w = 0.2 + 0.25 * torch.rand(n, 1, 1)
    inside = ((xx - cx).abs() < w) & ((yy - cy).abs() < w)
    ring = inside & ~(((xx - cx).abs() < w - 0.14) & ((yy - cy).abs() < w - 0.14))
    depth = 0.6 * xx * torch.randn(n, 1, 1) + inside.float()
    image = depth + 0.15 * torch.randn(n, size, size)
    return ((image - 0.1) / 0.6).unsqueeze(1), depth, ring.float()


class Scene(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, c, 3, padding=1), nn.GroupNorm(4, c), nn.ReLU(),
            nn.Conv2d(c, c, 3, padding=1), nn.GroupNorm(4, c), nn.ReLU())
        self.depth = nn.Conv2d(c, 1, 1)
        self.edges = nn.Conv2d(c, 1, 3, padding=1)

    def forward(self, x):
        h = self.body(x)
        return self.depth(h).squeeze(1), self.edges(h).squeeze(1)


image, depth, ring = scenes(512)
t_image, t_depth, t_ring = scenes(128)
net = Scene()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    net.train()
    for idx in torch.randperm(512).split(32):
        d, e = net(image[idx])
        loss_d = F.mse_loss(d, depth[idx])
        loss_e = F.binary_cross_entropy_with_logits(e, ring[idx])
        loss_d.backward(retain_graph=True)
        loss_e.backward()
        opt.step()
        for p in net.parameters():
            p.grad = None
    net.eval()
    with torch.no_grad():
        d, e = net(t_image)
        hit = ((e > 0) == (t_ring > 0.5)).float().mean()
        print(f"epoch {epoch}: depth error {F.mse_loss(d, t_depth):.4f} outline accuracy {hit:.3f}")
