import torch
import torch.nn as nn
import torch.nn.functional as F


class Transfer(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        self.backbone.requires_grad_(False)
        self.head = nn.Linear(32, classes)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone(x)
        return self.head(features)


def stones(n, classes, seed):
    centres = torch.randn(classes, 3, 1, 1, generator=torch.Generator().manual_seed(seed))
    y = torch.randint(0, classes, (n,))
    return centres[y] + 0.6 * torch.randn(n, 3, 8, 8), y


def make_backbone():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()
    )


def train(model, params, data, epochs):
    optimizer = torch.optim.Adam(params, lr=5e-3)
    x, y = data
    for epoch in range(epochs):
        model.train()
        for rows in torch.randperm(len(x)).split(32):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


torch.manual_seed(0)
pretrained = nn.Sequential(make_backbone(), nn.Linear(32, 5))
train(pretrained, pretrained.parameters(), stones(320, 5, 0), 4)
model = Transfer(pretrained[0], 3)
train(model, model.head.parameters(), stones(320, 3, 9), 6)
model.eval()
x, y = stones(150, 3, 9)
with torch.no_grad():
    print("accuracy", (model(x).argmax(1) == y).float().mean().item())
