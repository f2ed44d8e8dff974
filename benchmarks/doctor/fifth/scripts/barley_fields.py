import torch
from torch import nn

torch.manual_seed(45)
CLASSES = 20


class FieldNet(nn.Module):
    def __init__(self, n_in=24, width=256):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, width), nn.LayerNorm(width), nn.GELU())
        self.head = nn.Linear(width, CLASSES)
        nn.init.normal_(self.head.weight, mean=0.0, std=1.0)

    def forward(self, x):
        return self.head(self.trunk(x))


def fields(n, centres):
    y = torch.randint(0, CLASSES, (n,))
    return centres[y] + 0.8 * torch.randn(n, 24), y


centres = torch.randn(CLASSES, 24)
x, y = fields(1200, centres)
xv, yv = fields(400, centres)
model = FieldNet()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
step = 0
for epoch in range(4):
    for idx in torch.randperm(len(x)).split(40):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
        step += 1
with torch.no_grad():
    print("held out:", (model(xv).argmax(1) == yv).float().mean().item())
