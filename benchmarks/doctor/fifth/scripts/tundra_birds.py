import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(52)


def birds(n, shift=0.0, scale=1.0):
    kind = torch.randint(0, 4, (n,))
    t = torch.linspace(0, 6.28, 32)
    song = torch.sin((kind[:, None] + 1) * t + torch.rand(n, 1) * 0.8)
    return (song + 0.3 * torch.randn(n, 32)) * scale + shift, kind


class Songs(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Linear(32, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 48), nn.BatchNorm1d(48), nn.ReLU()
        )
        self.head = nn.Linear(48, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def fit(model, x, y, epochs, lr, name):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.Adam(params, lr=lr)
    for epoch in range(epochs):
        model.train()
        for idx in torch.randperm(len(x)).split(32):
            opt.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            acc = (model(x).argmax(1) == y).float().mean()
        print(f"{name} {epoch}: loss {loss.item():.3f} acc {acc:.3f}")


old_x, old_y = birds(960)
model = Songs(4)
fit(model, old_x, old_y, 4, 3e-3, "pretrain")

for p in model.backbone.parameters():
    p.requires_grad = False
model.head = nn.Linear(48, 2)
new_x, new_y = birds(320, shift=1.0, scale=2.0)
fit(model, new_x, new_y % 2, 4, 5e-3, "transfer")
