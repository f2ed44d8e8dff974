import torch
import torch.nn as nn
import torch.nn.functional as F


class Colours(nn.Module):
    def __init__(self, p=0.2):
        super().__init__()
        self.p = p
        self.fc1 = nn.Linear(2, 96)
        self.fc2 = nn.Linear(96, 96)
        self.fc3 = nn.Linear(96, 3)

    def forward(self, x):
        x = F.dropout(F.relu(self.fc1(x)), p=self.p, training=self.training)
        x = F.dropout(F.relu(self.fc2(x)), p=self.p, training=self.training)
        return self.fc3(x)


def spiral(n):
    y = torch.randint(0, 3, (n,))
    r = torch.rand(n)
    a = 4 * r + y * 2.09 + 0.15 * torch.randn(n)
    return torch.stack([r * a.sin(), r * a.cos()], 1) * 2, y


def main():
    torch.manual_seed(0)
    x, y = spiral(2000)
    xt, yt = spiral(500)
    model = Colours()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        model.train()
        for idx in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch}: {(model(xt).argmax(1) == yt).float().mean():.3f}")


if __name__ == "__main__":
    main()
