import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.dim = heads, width // heads
        self.to_qkv = nn.Linear(width, 3 * width)
        self.to_out = nn.Linear(width, width)

    def fold(self, x):  # (B, N, W) -> (B * H, N, D)
        b, n, _ = x.shape
        return x.view(b, n, self.heads, self.dim).transpose(1, 2).reshape(b * self.heads, n, self.dim)

    def forward(self, x):
        b, n, w = x.shape
        q, k, v = map(self.fold, self.to_qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v)
        y = y.view(b, self.heads, n, self.dim).transpose(1, 2).reshape(b, n, w)
        return self.to_out(y)


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.inp = nn.Linear(3, width)
        self.pos = nn.Parameter(0.1 * torch.randn(10, width))
        self.norm = nn.LayerNorm(width)
        self.attn = Attention(width, 4)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.inp(x) + self.pos
        h = h + self.attn(self.norm(h))
        return self.out(h.mean(1))


def batch(n):
    x = torch.randn(n, 10, 3)
    return x, (x[:, 0, :1] - x[:, -1, 1:2]) + 0.5 * x[:, :, 2].mean(1, keepdim=True)


torch.manual_seed(96)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(200):
    x, y = batch(48)
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(f"{step:4d} {loss.item():.4f}")
