import torch
import torch.nn as nn
import torch.nn.functional as F


class Shells(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 96)
        self.fc2 = nn.Linear(96, 96)
        self.fc3 = nn.Linear(96, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x, p=0.4)
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def spiral(n):
    y = torch.randint(0, 3, (n,))
    r = torch.rand(n)
    a = 4 * r + y * 2.09 + 0.15 * torch.randn(n)
    return torch.stack([r * a.sin(), r * a.cos()], 1) * 2, y


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
x, y = spiral(2000)
xt, yt = spiral(500)
model = Shells()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    model.train()
    for idx in torch.randperm(len(x)).split(50):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: {accuracy(model, xt, yt):.3f}")
