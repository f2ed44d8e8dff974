import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


def ships(n):
    kind = torch.randint(0, 4, (n,))
    t = torch.linspace(0, 6.28, 32)
    x = torch.sin((kind[:, None] + 1) * t + torch.rand(n, 1)) + 0.3 * torch.randn(n, 32)
    return x, kind


class Harbour(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(32, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.head = nn.Linear(24, 4)
        self.finetune = False

    def train(self, mode=True):
        super().train(mode)
        if self.finetune:
            self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


def fit(model, x, y, epochs, lr):
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    for _ in range(epochs):
        model.train()
        for idx in torch.randperm(len(x)).split(32):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(f"loss {loss.item():.3f} acc {(model(x).argmax(1) == y).float().mean():.3f}")


model = Harbour()
x, y = ships(960)
fit(model, x, y, 3, 3e-3)
model.backbone.requires_grad_(False)
model.finetune = True
model.head = nn.Linear(24, 2)
x2, y2 = ships(320)
print("new task")
fit(model, x2, y2 // 2, 5, 1e-2)
