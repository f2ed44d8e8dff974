"""Events in a window: is the second half higher than the first?"""
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class Att(nn.Module):
    def __init__(self, d=32, h=4, drop=0.1):
        super().__init__()
        self.h, self.drop = h, drop
        self.in_proj = nn.Linear(d, 3 * d)
        self.out_proj = nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.in_proj(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        p = self.drop if self.training else 0.0
        y = scaled_dot_product_attention(q, k, v, dropout_p=p)
        return self.out_proj(y.transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = Att(d)
        self.ff = nn.Sequential(nn.Linear(d, 64), nn.GELU(), nn.Linear(64, d))

    def forward(self, x):
        x = x + self.att(self.ln1(x))
        return x + self.ff(self.ln2(x))


class Events(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(1, 32)
        self.pos = nn.Parameter(0.2 * torch.randn(12, 32))
        self.layers = nn.Sequential(Layer())
        self.cls = nn.Linear(32, 2)

    def forward(self, x):
        return self.cls(self.layers(self.inp(x) + self.pos).mean(1))


def windows(n):
    x = torch.randn(n, 12, 1)
    return x, (x[:, 6:].sum((1, 2)) > x[:, :6].sum((1, 2))).long()


torch.manual_seed(97)
model = Events()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    x, y = windows(40)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print("step", step, "loss", round(loss.item(), 3))
model.eval()
x, y = windows(300)
with torch.no_grad():
    print("accuracy", (model(x).argmax(1) == y).float().mean().item())
