import torch
import torch.nn as nn

torch.manual_seed(50)


class FogNet(nn.Module):
    def __init__(self, n_in=20, width=32):
        super().__init__()
        self.hidden = nn.Linear(n_in, width)
        self.out = nn.Linear(width, 1)
        for p in self.hidden.parameters():
            nn.init.normal_(p, std=4.0)

    def forward(self, x):
        return self.out(torch.sigmoid(self.hidden(x))).squeeze(-1)


def signal(n):
    x = torch.randn(n, 20)
    y = torch.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.3 * x[:, 3:].mean(1)
    return x, y


x, y = signal(1000)
xv, yv = signal(300)
model = FogNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(10):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(25):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(xv), yv).item()
    if epoch % 2:
        print(f"epoch {epoch}: train {total / len(x):.3f} valid {val:.3f}")
